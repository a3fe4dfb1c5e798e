from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional

import pytest
from pydantic import JsonValue, SecretBytes, SecretStr

from mcp_guard import Sensitive
from mcp_guard.redaction import (
    MAX_CHARS,
    is_sensitive_annotation,
    is_sensitive_name,
    quoted,
    redact,
    redact_secrets,
    redacted_arguments,
    shown,
)

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
CREDENTIALS = """
password passphrase passwd secret api_key apikey apiKey APIKey X-Api-Key access_token accessToken
auth_token refresh_token private_key client_secret authorization proxy-authorization credentials
bearer db_password dbPassword userpassword password2 password_confirmation newPassword stripeApiKey
openai_api_key github_token AWS_SECRET_ACCESS_KEY smtp_pass signing_key session_token oauth_token
OAuth2Token id_token
"""
LOOKALIKES = """
next_token nextToken page_token continuation_token token tokens max_tokens token_count issue_key key
primary_key sort_key public_key project_key idempotency_key cursor password_policy secret_santa_list
secret_name secretary has_password use_api_key passport bypass compass author authorize monkey
keyword path url _ x
"""
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq\nq8s7\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize("name", CREDENTIALS.split())
def test_a_name_that_means_a_credential_is_sensitive(name: str) -> None:
    assert is_sensitive_name(name)


@pytest.mark.parametrize("name", LOOKALIKES.split())
def test_a_name_that_only_resembles_one_is_not(name: str) -> None:
    assert not is_sensitive_name(name)


Pin = NewType("Pin", SecretStr)


@pytest.mark.parametrize(
    "annotation",
    [
        SecretStr,
        SecretBytes,
        SecretStr | None,
        Optional[list[SecretStr]],  # noqa: UP045 - the older spelling is what many tools have
        dict[str, SecretBytes],
        Annotated[str, Sensitive],
        Annotated[str, Sensitive()],
        Annotated[str, Sensitive] | int,
        list[Annotated[str, Sensitive]],
        Pin,
    ],
)
def test_a_type_that_marks_its_values_as_secret_is_sensitive(annotation: Any) -> None:
    assert is_sensitive_annotation(annotation)


@pytest.mark.parametrize(
    "annotation", [str, int | None, dict[str, Any], Literal["secret"], JsonValue, None, "SecretStr"]
)
def test_any_other_type_is_not(annotation: Any) -> None:
    assert not is_sensitive_annotation(annotation)


@pytest.mark.parametrize(
    ("text", "secret", "kind"),
    [
        ("postgres://app:hunter2@db.internal:5432/shop", "hunter2", "[credentials hidden]"),
        ("postgres://app:p@ssw0rd@db.internal/shop", "ssw0rd", "[credentials hidden]"),
        ("postgres://app:pass/w0rd@db.internal/shop", "w0rd", "[credentials hidden]"),
        ("redis://:hunter2@cache:6379/0", "hunter2", "[credentials hidden]"),
        (
            "https://0123456789abcdef0123456789abcdef@o1.ingest.example.com/42",
            "0123456789abcdef",
            "[credentials hidden]",
        ),
        ("host=db user=app password=hunter2 dbname=shop", "hunter2", "[password hidden]"),
        ("Server=db;User Id=app;Pwd=hunter2;Database=shop", "hunter2", "[password hidden]"),
        ("Endpoint=https;AccountName=n;AccountKey=c2VjcmV0==;X=y", "c2VjcmV0", "[key hidden]"),
        ("Authorization: Bearer abc.def", "abc.def", "[credentials hidden]"),
        ("{'Authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz", "[credentials hidden]"),
        ("sent Bearer abcdef1234567890", "abcdef1234567890", "[token hidden]"),
        ("sent Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA", "[credentials hidden]"),
        ('Cookie: sid="a b"; theme=dark', "a b", "[cookie hidden]"),
        ("Set-Cookie: sid=31d4d96e407aad42; HttpOnly", "31d4d96e407aad42", "[cookie hidden]"),
        ('{"user": "bob", "password": "hunter2"}', "hunter2", "[password hidden]"),
        ('{"user": "bob", "password": "hun\\"ter2"}', "ter2", "[password hidden]"),
        (r'{"body": "{\"api_key\": \"xyz123\"}"}', "xyz123", "[key hidden]"),
        ("{'password': 'hunter2', 'user': 'bob'}", "hunter2", "[password hidden]"),
        ("environ['DB_PASSWORD'] = 'hunter2'", "hunter2", "[password hidden]"),
        ("password: hunter2", "hunter2", "[password hidden]"),
        ("passwords: ['one', 'two']", "two", "[password hidden]"),
        ("connect(user=bob,password=hunter2,port=1)", "hunter2", "[password hidden]"),
        ("GET /x?api_key=abc123&page=2", "abc123", "[key hidden]"),
        ("https://x.blob.example.com/a?sv=1&sig=abc%3D&se=2", "abc%3D", "[credentials hidden]"),
        ("token=abcdef0123456789abcdef", "abcdef0123456789", "[token hidden]"),
        (f"key: {KEY} end", "MIIEpAIBAAKCAQEA7bq", "[private key hidden]"),
        (KEY[:60], "MIIEpAIBAAKCAQEA", "[private key hidden]"),
        (f"got {JWT}!", "eyJ", "[token hidden]"),
        ("sk-proj-abc123def456ghi789jkl", "sk-proj", "[key hidden]"),
        ("rk_live_" + "a1" * 12, "rk_live_", "[key hidden]"),
        ("ghp_" + "a1" * 18, "ghp_", "[token hidden]"),
        ("github_pat_" + "a1" * 20, "github_pat_", "[token hidden]"),
        ("glpat-" + "a1" * 10, "glpat-", "[token hidden]"),
        ("npm_" + "a1" * 18, "npm_", "[token hidden]"),
        ("xoxb-1234567890-abcdefghij", "xoxb", "[key hidden]"),
        ("AKIAIOSFODNN7EXAMPLE", "AKIA", "[key hidden]"),
        ("AIza" + "a1" * 18, "AIza", "[key hidden]"),
        ('File "/srv/app/x.py", line 3, in f\n    login("hunter2")\nValueError', "hunter2", "[stack frame hidden]"),
        ("open /home/alice/notes.txt failed", "alice", "[path hidden]"),
        ("No such file: '/srv/my data/x.txt'", "my data", "[path hidden]"),
        (r"cannot read C:\Users\bob\x.txt", "bob", "[path hidden]"),
        (r"cannot read C:\\Users\\bob\\x.txt", "bob", "[path hidden]"),
        (r"cannot read \\files\team\x.txt", "team", "[path hidden]"),
        ("file:///home/alice/x", "alice", "[path hidden]"),
        ("in " + str(Path(sys.prefix) / "lib"), sys.prefix, "[path hidden]"),
        ("in " + str(Path.cwd() / "x.py"), str(Path.cwd()), "[path hidden]"),
    ],
)
def test_what_must_not_leave_gives_way_to_what_kind_it_was(text: str, secret: str, kind: str) -> None:
    redacted = redact(text)
    assert secret not in redacted
    assert kind in redacted
    assert redact(redacted) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "id 550e8400-e29b-41d4-a716-446655440000, version 1.2.3-rc.1+build.5",
        "see https://example.com/home/a/b?page=2#top and https://example.com:8080/a@b",
        "git at ssh://git@example.com/team/repo.git, npm at https://registry.example.com/@scope/pkg",
        "aGVsbG8gd29ybGQsIHRoaXMgaXMgbm90IGEgc2VjcmV0",
        "the password is wrong, and the token has expired",
        "invalid password: it must have 8 characters",
        "password: str, secret: None, api_key: required",
        "on 2024/01/01 as text/html and/or ./a/b, ../c and /items/0/name",
        "next_token=abcdef0123456789abcdef, issue_key=PROJ-12, cursor=eyJpZCI6MTJ9",
        "the bearer authentication scheme, basic understanding",
        r"the pattern \\d+\\w and a\\nb\\nc",
        "C: and D:, 12:30, ratio 3:4, a://b",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text


def test_only_the_secret_of_a_text_goes() -> None:
    assert redact("host=db password=hunter2 port=1") == "host=db password=[password hidden] port=1"
    assert redact("postgres://app:hunter2@db:5432/shop") == "postgres://[credentials hidden]@db:5432/shop"


def test_a_path_that_the_caller_sent_stays_and_its_neighbour_does_not() -> None:
    text = "cannot copy '/home/me/a b.txt' to /home/me/c.txt."
    assert redact(text, sent=["/home/me/a b.txt"]) == "cannot copy '/home/me/a b.txt' to [path hidden]"
    assert redact("see /home/me/secrets", sent=["/home/me"]) == "see [path hidden]"


def test_credentials_can_be_hidden_without_the_paths() -> None:
    assert redact_secrets("/home/me password=hunter2") == "/home/me password=[password hidden]"


def test_a_text_beyond_the_limit_is_cut_with_a_mark() -> None:
    text = "word " * MAX_CHARS
    redacted = redact(text)
    assert len(redacted) < MAX_CHARS + 50
    assert redacted.endswith("characters hidden]")
    kept, dropped = redacted.rsplit("\n", 1)
    assert len(kept) + int(dropped.strip("[]").split()[0].replace(",", "")) == len(text)
    assert redact(redacted) == redacted


def test_a_text_that_hiding_makes_longer_is_not_cut_by_the_second_pass() -> None:
    redacted = redact("pwd=x " * 3_000)
    assert len(redacted) > MAX_CHARS
    assert redact(redacted) == redacted


@pytest.mark.parametrize(
    "unit",
    ["a", "://", "sk-", "eyJaaaaaaaaa.", "pwd=", "token=", "x,", "\\", '\\"', 'File "', "/home", "'/home/", "bearer ",
     "-----BEGIN PRIVATE KEY-----", "a:", "[a", "authorization: ", '="', "[a hidden]", "C:\\", "\\\\ab\\", "basic a",
     "password: is ", "cookie: the ", "Traceback ", "/home/a ", "://a:", "ghp_a", "-----BEGIN "],
)  # fmt: skip
@pytest.mark.parametrize("head", ["", "password=", "cookie: a=", "http://", "basic ", "'/home/"])
def test_no_text_takes_long(head: str, unit: str) -> None:
    text = head + unit * (MAX_CHARS // len(unit))
    started = time.perf_counter()
    redact(text)
    # A quadratic pattern takes seconds here, a linear one milliseconds.
    assert time.perf_counter() - started < 1


class Unhelpful:
    def __repr__(self) -> str:
        raise RuntimeError


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "display"),
    [
        ("three", "'three'"),
        ("/etc/passwd", "'/etc/passwd'"),
        ("a\nb\x00\u202e\ud800", r"'a\nb\x00\u202e\ud800'"),
        (3, "3"),
        (True, "true"),
        (None, "null"),
        (float("nan"), "NaN"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        ({"password": "hunter2"}, '{"password": "[password hidden]"}'),
        ("password=hunter2", "'password=[password hidden]'"),
        pytest.param(10**5_000, "<int>", id="a huge integer"),
        (Unhelpful(), '"<Unhelpful>"'),
        (CIRCLE, "<list>"),
        ({(1, 2): 3}, "<dict>"),
    ],
)
def test_a_value_is_quoted_on_one_line(value: object, display: str) -> None:
    assert quoted(value) == display


@pytest.mark.parametrize("value", ["x" * 1_000_000, list(range(1_000_000)), {"a": "\x00" * 500}])
def test_a_quoted_value_is_never_longer_than_its_limit(value: object) -> None:
    assert len(quoted(value)) == 80
    assert "…" in quoted(value)
    assert len(quoted(value, limit=20)) == 20


def test_a_shown_string_has_no_quotes() -> None:
    assert shown("a.md") == "a.md"
    assert shown(["a.md"]) == '["a.md"]'


def test_arguments_are_logged_without_what_is_sensitive() -> None:
    arguments = {"path": "a.md", "pin": "1234", "api_key": "k", "options": {"password": "p"}, "page_token": "abc"}
    assert redacted_arguments(arguments, frozenset({"pin"})) == {
        "path": "'a.md'",
        "pin": "[hidden]",
        "api_key": "[hidden]",
        "options": '{"password": "[password hidden]"}',
        "page_token": "'abc'",
    }


def test_a_deleted_working_folder_does_not_stop_the_redactor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert redact("at /srv/x") == "at [path hidden]"
