"""What must never leave the server: credentials, and where things live on its disk.

A rule is a cheap keyword gate and a function that hides what it finds; `redact` applies the rules in order.
Every pattern runs in linear time, and text beyond `MAX_CHARS` is dropped with a mark: no text can stall the
server.
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from pydantic import SecretBytes, SecretStr
from pydantic.types import Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

MAX_CHARS = 20_000
"""How many characters of a text are looked at; the rest is dropped."""

HIDDEN = "[hidden]"
"""What stands where the whole value of a sensitive argument would."""


class Sensitive:
    """Marks a parameter whose value is never shown or logged: `Annotated[str, Sensitive]`."""


def _split(words: str) -> frozenset[str]:
    return frozenset(words.split())


_PASSWORD_WORDS = _split("password passwords passwd passphrase passcode pwd")
_SECRET_WORDS = _PASSWORD_WORDS | _split(
    "secret secrets credential credentials authorization bearer otp jwt apikey apitoken accesskey accesstoken "
    "authkey authtoken refreshtoken privatekey secretkey signingkey sessiontoken bearertoken"
)
# Words that are harmless alone, and mean a credential after one of these.
_OWNERS = {
    "key": _split("access admin api auth decryption deploy encryption master private secret signing subscription"),
    "token": _split(
        "access admin api app auth authentication authorization bearer bot client csrf discord github gitlab "
        "hf id jwt notion npm oauth personal private pypi refresh reset secret security service session "
        "slack telegram user xsrf"
    ),
    "pass": _split("admin database db ftp imap mysql pg postgres proxy redis root smtp ssh user"),
    "cookie": _split("auth session set"),
    "code": _split("authorization"),
}
_FLAG_WORDS = _split(
    "allow disable enable has include includes is list max min need needs no num require required requires "
    "show use uses"
)
_TRAILING_WORDS = _split("base64 confirm confirmation hash plain plaintext value")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name.replace("OAuth2", "oauth").replace("OAuth", "oauth"))]


@lru_cache(maxsize=1024)
def is_sensitive_name(name: str) -> bool:
    """Return whether a name means a credential, by its last words: `db_password`, `stripeApiKey`.

    Names that merely contain such a word do not count (`next_token`, `issue_key`, `password_policy`).
    """
    words = _words(name[:200])
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _TRAILING_WORDS):
        words.pop()
    if not words or (len(words) > 1 and words[0] in _FLAG_WORDS):
        return False
    last = words[-1]
    if last in _SECRET_WORDS or last.endswith(("password", "passwd", "passphrase")):
        return True
    return len(words) > 1 and words[-2] in _OWNERS.get(last, ())


def is_sensitive_annotation(annotation: Any) -> bool:
    """Return whether a type says that its values are secret.

    `SecretStr`, `SecretBytes`, `Annotated[str, Sensitive]` do, and so do optionals, unions and lists of them.
    """
    pending, seen = [annotation], set[int]()
    while pending:
        part = pending.pop()
        if _marks_secret(part):
            return True
        # A type alias may contain itself, as `pydantic.JsonValue` does.
        if id(part) not in seen:
            seen.add(id(part))
            pending += (*get_args(part), get_origin(part), *(getattr(part, name, None) for name in _MEANING))
    return False


_MEANING = ("__value__", "__supertype__")


def _marks_secret(part: Any) -> bool:
    if isinstance(part, type):
        return issubclass(part, SecretStr | SecretBytes | Secret | Sensitive)
    return isinstance(part, Sensitive)


def redact(text: str, sent: Collection[str] = ()) -> str:
    """Return `text` with credentials, stack frames and absolute paths of this host hidden.

    What kind each was takes its place: `[password hidden]`, `[path hidden]`. Redacting twice changes nothing
    more. Of a text over `MAX_CHARS` characters the rest is dropped, and a last line says how much.

    Args:
        text: The text to show.
        sent: What the caller sent; a path that is among it is no news to the caller and stays.
    """
    return _applied((*_FRAME_RULES, *_SECRET_RULES, *_PATH_RULES), text, sent)


def redact_secrets(text: str) -> str:
    """Return `text` with credentials hidden as `redact` does, but with paths left as they are."""
    return _applied(_SECRET_RULES, text, ())


def shown(value: object, limit: int = 80) -> str:
    """Return a value on one line, credentials hidden: a string as it is, anything else as JSON.

    Paths stay, because the values that are shown are those that the caller sent. Never raises.

    Args:
        value: Anything; what has no JSON form is shown as `<its type>`.
        limit: The most characters to return, the ellipsis of a longer value included.
    """
    text = value if isinstance(value, str) else _json(value)
    line = _printable(redact_secrets(text[: limit * 50]))
    return line if len(line) <= limit else f"{line[: max(limit - 1, 0)]}…"


def quoted(value: object, limit: int = 80) -> str:
    """Return a value as `shown` does, a string in single quotes (`'three'`) that count towards `limit`."""
    return f"'{shown(value, limit - 2)}'" if isinstance(value, str) else shown(value, limit)


def redacted_arguments(arguments: Mapping[str, Any], sensitive: frozenset[str]) -> dict[str, str]:
    """Return arguments for a log: by name, the value as `quoted` shows it, or `[hidden]` for a sensitive one.

    Args:
        arguments: The arguments by name.
        sensitive: Names that are sensitive as declared; names that mean a credential are hidden anyway.
    """
    return {
        _printable(name): HIDDEN if name in sensitive or is_sensitive_name(name) else quoted(value)
        for name, value in arguments.items()
    }


def _json(value: object) -> str:
    if value is None or isinstance(value, int | float):
        try:
            return json.dumps(value)
        except ValueError:
            # An integer of very many digits.
            return _type_name(value)
    encoder = json.JSONEncoder(ensure_ascii=False, default=_type_name)
    try:
        return "".join(islice(encoder.iterencode(value), 1000))
    except (TypeError, ValueError, RecursionError):
        return _type_name(value)


def _type_name(value: object) -> str:
    return f"<{type(value).__name__}>"


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "surrogatepass").decode() for char in text
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    """`hide` runs only where one of the `gate` words is in the text, ignoring case; no words: always."""

    gate: tuple[str, ...]
    hide: Callable[[str, Collection[str]], str]


_MARK = r"\[[a-z0-9, ]{1,40} hidden\]"


def _applied(rules: Iterable[_Rule], text: str, sent: Collection[str]) -> str:
    text, dropped = _bounded(text)
    lowered = text.lower()
    for rule in rules:
        # Spelt out: as `any(...)` this loop took most of the time of a refused call.
        for word in rule.gate:
            if word in lowered:
                text = rule.hide(text, sent)
                break
    return f"{text}\n[{dropped:,} characters hidden]" if dropped else text


def _bounded(text: str) -> tuple[str, int]:
    """Cut at the last white space before the limit, lest half a secret passes for none.

    Marks do not count: hiding may lengthen a text, and a second pass must not cut what the first one left.
    """
    if len(text) <= MAX_CHARS or (len(text) <= 8 * MAX_CHARS and len(_compiled(_MARK).sub("", text)) <= MAX_CHARS):
        return text, 0
    head = text[:MAX_CHARS]
    end = max(head.rfind(" ", MAX_CHARS - 500), head.rfind("\n", MAX_CHARS - 500))
    head = head[:end] if end > 0 else head
    return head, len(text) - len(head)


# Compiled when a text first needs them: all of them together take longer than importing the rest of the core.
_compiled = lru_cache(maxsize=64)(re.compile)


def _rule(gate: str, pattern: str, replacement: str) -> _Rule:
    return _Rule(tuple(gate.split()), lambda text, _: _compiled(pattern).sub(replacement, text))


_NAME = (
    r"""(?<![A-Za-z0-9_-])(?P<name>[A-Za-z_][A-Za-z0-9_-]{2,99}+)"""
    r"""\\{0,4}["'`]?\]?[ \t]{0,8}(?:=>|:=|[:=])[ \t]{0,8}"""
)
_VALUE = r"""(?xi)
    (?P<quote>\\{0,4}["'`]) (?P<inner>(?:(?!(?P=quote))(?:\\.|[^\n]))*+)
    | \[[^\]\n]*+\]? | \{[^}\n]*+\}?
    | (?:(?:bearer|basic|token|digest|negotiate|apikey)[ ]+)?
      (?:[^\s,;&"'`<>()\[\]{}]|[<>()\[\]{}](?=\w)|,(?!\s|$|[\w-]{1,64}["']?[ ]?[=:]))+
"""
_HEADER_VALUE = r"""(?P<quote>\\{0,4}["'`])?(?P<inner>(?:(?<==)"[^"\n]*"|[^"'`\n\\])+)"""
# Prose goes on after a colon ("invalid password: it must have 8 characters"); a type or nothing is no secret.
_PROSE = (
    "a|an|and|any|are|as|at|be|bool|but|by|can|cannot|did|does|empty|exceeded|expected|expired|false|field|for|"
    "from|has|he|if|in|incorrect|int|invalid|is|it|its|length|longer|maximum|minimum|missing|must|need|needs|no|"
    "none|not|null|of|on|only|or|please|required|secretstr|she|should|shorter|sorry|str|string|that|the|they|"
    "this|to|too|true|undefined|unknown|use|value|was|we|were|when|which|will|with|wrong|you|your"
)
_HARMLESS = rf"""(?i)\\{{0,4}}["'`]?(?:,?{_MARK}|(?:{_PROSE})(?=[.,:;!?]{{0,3}}(?:\\{{0,4}}["'`]|[\s)\]}}]|$)))"""
_RANDOM = r"""\\{0,4}["'`]?(?=[^\s"'`]{0,63}[0-9])[^\s"'`&;,]{16}"""
_PAIR = r"""\\{0,4}["'`]?[\w.-]{1,64}="""
_URL_SECRETS = _split("sig signature x-amz-signature accountkey sharedaccesskey sharedaccesssignature")


def _hide_named(text: str, _: Collection[str]) -> str:
    """Hide the value after each name that means a credential, in `a=b`, headers, JSON and YAML alike."""
    parts: list[str] = []
    done = 0
    for found in _compiled(_NAME).finditer(text):
        name, at = found["name"], found.end()
        if found.start() < done or not _holds_secret(name, text, at):
            continue
        pattern = _HEADER_VALUE if name.lower().endswith(("authorization", "cookie")) else _VALUE
        value = _compiled(pattern).match(text, at)
        start, end = value.span("inner" if value["quote"] is not None else 0) if value else (at, at)
        if end > start:
            parts += (text[done:start], f"[{_kind(name)} hidden]")
            done = end
    return "".join((*parts, text[done:]))


def _holds_secret(name: str, text: str, at: int) -> bool:
    if _compiled(_HARMLESS).match(text, at):
        return False
    lowered = name.lower()
    if lowered == "token":
        return _compiled(_RANDOM).match(text, at) is not None
    if lowered.endswith("cookie"):
        return _compiled(_PAIR).match(text, at) is not None
    return lowered in _URL_SECRETS or is_sensitive_name(name)


def _kind(name: str) -> str:
    last = _words(name)[-1]
    if last in _PASSWORD_WORDS or last.endswith("password"):
        return "password"
    return next((kind for kind in ("token", "key", "secret", "cookie") if last.endswith(kind)), "credentials")


_FRAME_RULES: tuple[_Rule, ...] = (
    _rule(
        "traceback file",
        r"""Traceback \(most recent call last\):\n?[ \t]*"""
        r"""|File "[^"\n]{1,4096}", line \d+(?:, in [^\n]{0,200})?(?:\n {4,}[^\n]*)*""",
        "[stack frame hidden]",
    ),
)

_SECRET_RULES: tuple[_Rule, ...] = (
    _rule(
        "private",
        r"(?s)-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----.*?"
        r"(?:-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----|\Z)",
        "[private key hidden]",
    ),
    # A password may hold an unescaped slash; but digits up to a slash are a port, and a later @ is the path's.
    _rule(
        "://",
        r"""(?<=://)(?:[^\s/?#@:'"<>]{0,256}:(?:[^\s/'"<>]{1,256}@|(?!\d{1,5}[/?#])[^\s'"<>@]{1,256}@)"""
        r"""|[A-Za-z0-9_.~-]{16,256}@)""",
        "[credentials hidden]@",
    ),
    _Rule(
        ("pass", "pwd", "secret", "token", "key", "auth", "cred", "bearer", "otp", "jwt", "sig", "cookie"),
        _hide_named,
    ),
    _rule(
        "bearer",
        r"(?i)(?<![\w-])(bearer)[ \t]{1,4}(?:[\w.~+/=-]{16,}|(?=[A-Za-z._~+/=-]{0,15}[0-9])[\w.~+/=-]{8,})",
        r"\1 [token hidden]",
    ),
    _rule(
        "basic",
        r"(?<![\w-])(Basic|basic)[ \t]{1,4}"
        r"(?:[A-Za-z0-9+/]{6,}+={1,2}|(?=[A-Za-z+/]*[0-9])[A-Za-z0-9+/]{12,})",
        r"\1 [credentials hidden]",
    ),
    _rule(
        "eyj",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+){0,3}",
        "[token hidden]",
    ),
    _rule(
        "sk- sk_ rk_ whsec_",
        r"(?<![A-Za-z0-9_-])(?:sk-(?=[A-Za-z_-]*[0-9])[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}"
        r"|whsec_[\w+/=]{16,})",
        "[key hidden]",
    ),
    _rule(
        "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glpat- npm_ hf_ pypi- dop_v1_",
        r"(?<![A-Za-z0-9])(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{30,}"
        r"|hf_[A-Za-z0-9]{20,}|pypi-[\w-]{40,}|dop_v1_[a-f0-9]{40,})",
        "[token hidden]",
    ),
    _rule(
        "xox xapp- akia asia aiza ya29. sg.",
        r"(?<![A-Za-z0-9])(?:(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,}|A[KS]IA[A-Z0-9]{16,}|AIza[\w-]{30,}"
        r"|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,})",
        "[key hidden]",
    ),
)


_HOST_ROOTS = _split("home Users root var tmp etc opt usr srv mnt proc run private workspace app data")
_PATH_END = r"""\s'"`<>|:;,()\[\]{}*?"""


def _first_folders() -> frozenset[str]:
    """Return the first folder of where this process works, lives and runs from."""
    try:
        here = Path.cwd()
    except OSError:
        # The working folder was deleted under the process.
        here = Path(os.sep)
    places = (here, Path(os.path.expanduser("~")), Path(sys.prefix), Path(sys.base_prefix))
    return frozenset(place.parts[1] for place in places if len(place.parts) > 1)


@lru_cache(maxsize=8)
def _posix_path(first_folders: frozenset[str]) -> str:
    roots = "|".join(re.escape(root) for root in sorted({*_HOST_ROOTS, *first_folders}))
    quoted_whole = "|".join(rf"(?<={quote})/(?:{roots})/[^{quote}\n]*(?={quote})" for quote in "'\"`")
    return rf"{quoted_whole}|(?<![\w./~\]}}%-])/(?:{roots})(?![\w.-])(?:/[^{_PATH_END}]*)?"


def _hide_paths(pattern: str, text: str, sent: Collection[str]) -> str:
    def hidden(found: re.Match[str]) -> str:
        path = found[0]
        return path if path in sent or path.rstrip(".") in sent else "[path hidden]"

    return _compiled(pattern).sub(hidden, text)


_WINDOWS_PATH = (
    rf"(?<![A-Za-z0-9])(?:[A-Za-z]:\\|[A-Z]:/(?!/))[^{_PATH_END}]*"
    rf"|(?<![\w\\])\\\\{{1,3}}[\w.-]{{2,64}}\\{{1,2}}[^{_PATH_END}]+"
)
_FILE_URL = rf"(?<!\w)file:/{{1,3}}[^{_PATH_END}]+"

_PATH_RULES: tuple[_Rule, ...] = (
    _Rule(("file:/",), partial(_hide_paths, _FILE_URL)),
    _Rule(("/",), lambda text, sent: _hide_paths(_posix_path(_first_folders()), text, sent)),
    _Rule((":\\", ":/", "\\\\"), partial(_hide_paths, _WINDOWS_PATH)),
)
