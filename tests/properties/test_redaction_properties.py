from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_guard.redaction import quoted, redact, redacted_arguments

_PIECES = st.sampled_from(
    ["password", "api_key", "token", "Authorization", "cookie", "Bearer ", "Basic ", "=", ": ", ":", '"', "'", "\\",
     "\n", " ", ",", "[", "]", "{", "}", "[password hidden]", "[path hidden]", " hidden]", "://", "@", "/home/", "/srv",
     "C:\\",
     "\\\\srv\\x", "eyJhbGciOiJI.", "sk-", "ghp_", "a1" * 20, "hunter2", "File \"x\", line 3", "    ", "file:///",
     "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "none", "a=", "Traceback (most recent call last):"]
)  # fmt: skip
_TEXTS = st.lists(_PIECES | st.text(max_size=3), max_size=12).map("".join)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | _TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
    max_leaves=20,
)


@given(_TEXTS)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact(text)
    assert redact(once) == once


@given(before=st.text(max_size=30), secret=st.text(alphabet="abcdefgh0123456789!$%+-_.", min_size=8, max_size=40))
def test_a_named_secret_never_survives(before: str, secret: str) -> None:
    for text in (
        f"{before}\npassword={secret}",
        f'{before}\n{{"api_key": "{secret}"}}',
        f"{before}\nAuthorization: {secret}",
    ):
        assert secret not in redact(text).removeprefix(before)


@given(value=_VALUES, limit=st.integers(min_value=8, max_value=200))
def test_a_quoted_value_is_one_printable_line_within_its_limit(value: object, limit: int) -> None:
    line = quoted(value, limit)
    assert len(line) <= limit
    assert line.isprintable()


@given(st.dictionaries(st.text(), _VALUES))
def test_every_argument_is_logged_as_a_printable_line(arguments: dict[str, object]) -> None:
    for name, line in redacted_arguments(arguments, frozenset()).items():
        assert name.isprintable()
        assert line.isprintable()
