"""Failures of HTTP clients and cloud services, by status."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from mcp_guard.call import Call
from mcp_guard.faults import (
    AuthenticationRequired,
    Conflict,
    DependencyFailed,
    DependencyTimedOut,
    DependencyUnavailable,
    Fault,
    InvalidData,
    NotFound,
    PermissionDenied,
)
from mcp_guard.known_errors.rules import Table, says, worded

MAX_RETRY_AFTER: Final = 86_400.0
"""The longest wait that a service may ask for, in seconds."""

_CHECK_VALUES = "Check the values of the arguments: the service refused a request that was made from them."
_CHECK_NAMES = "Check the names and ids in the arguments."
_LESS = "Send or ask for less at once."

_STATUSES: Mapping[int, tuple[type[Fault], str, dict[str, Any]]] = {
    400: (
        DependencyFailed,
        "did not accept the request",
        {"retry": "after_fix", "fault_side": "caller", "fix": _CHECK_VALUES},
    ),
    401: (AuthenticationRequired, "did not accept the server's credentials", {}),
    403: (PermissionDenied, "does not allow this", {}),
    404: (NotFound, "has no such thing", {"fix": _CHECK_NAMES}),
    408: (DependencyTimedOut, "did not answer in time", {}),
    409: (Conflict, "says that this conflicts with its present state", {}),
    413: (
        DependencyFailed,
        "found the request too large",
        {"retry": "after_fix", "fault_side": "caller", "fix": _LESS},
    ),
    429: (DependencyUnavailable, "limits how often it may be asked", {}),
    500: (DependencyFailed, "failed", {"retry": "after_delay", "transient": True}),
    502: (DependencyUnavailable, "is not available for the moment", {}),
    504: (DependencyTimedOut, "did not answer in time", {}),
}
_SAME_AS = {410: 404, 412: 409, 414: 413, 422: 400, 423: 409, 425: 429, 503: 502}


def by_status(status: int, headers: Any = None, *, detail: str | None = None) -> Fault:
    """Return the fault for an HTTP status that reports a failure.

    Args:
        status: The status code (RFC 9110, section 15).
        headers: The headers of the answer, for `Retry-After` (RFC 9110, section 10.2.3).
        detail: What to show in brackets instead of the status.
    """
    known = _STATUSES.get(_SAME_AS.get(status, status))
    fault, what, details = known or (DependencyFailed, "answered with a failure", {})
    text = f"the service behind this tool {what} ({detail or f'HTTP {status}'})"
    made = worded(fault, text, **details)
    if made.retry == "after_delay":
        made.retry_after = retry_after(headers)
    return made


def retry_after(headers: Any) -> float | None:
    """Return the seconds that a `Retry-After` header asks to wait, whether it gives seconds or a date."""
    given = _header(headers, "Retry-After")
    if given is None:
        return None
    if re.fullmatch(r"\s*[0-9]{1,9}(\.[0-9]{1,9})?\s*", given):
        return min(float(given), MAX_RETRY_AFTER)
    then = _date(given)
    if then is None:
        return None
    # The service's own clock, where it tells the time: only the difference counts.
    now = _date(_header(headers, "Date")) or datetime.now(UTC)
    return min(max((then - now).total_seconds(), 0.0), MAX_RETRY_AFTER)


def _header(headers: Any, name: str) -> str | None:
    get = getattr(headers, "get", None)
    if get is None:
        return None
    value = get(name, None) or get(name.lower(), None)
    return value if isinstance(value, str) else None


def _date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def _of_response(error: Any, _call: Call) -> Fault:
    """For exceptions with a `response` that has a status (httpx, httpx2, requests)."""
    status = getattr(error.response, "status_code", None)
    if not isinstance(status, int):
        return DependencyFailed()
    return by_status(status, getattr(error.response, "headers", None))


def _of_status(error: Any, _call: Call) -> Fault:
    """For exceptions with a `status` of their own (aiohttp)."""
    return by_status(error.status, error.headers)


def _of_code(error: Any, _call: Call) -> Fault:
    """For exceptions whose `code` is the status (urllib)."""
    return by_status(error.code, error.headers)


_AWS: Mapping[int, tuple[str, ...]] = {
    429: ("throttl", "toomanyrequests", "limitexceeded", "slowdown", "throughputexceeded", "bandwidth"),
    401: ("expiredtoken", "clienttokenid", "unrecognizedclient", "signature", "accesskeyid", "authfailure"),
    403: ("accessdenied", "unauthorized", "notauthorized", "forbidden", "disabled"),
    409: ("conditionalcheckfailed", "resourceinuse", "alreadyexists", "alreadyowned", "conflict", "notempty"),
    404: ("nosuch", "notfound"),
    400: ("validation", "invalidparameter", "malformed"),
}


def _of_aws(error: Any, _call: Call) -> Fault:
    """For botocore's `ClientError`: by its error code, else by the HTTP status."""
    response = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    metadata = response.get("ResponseMetadata", {})
    told = (status for status, words in _AWS.items() if any(word in code.lower() for word in words))
    status = next(told, metadata.get("HTTPStatusCode"))
    detail = code if re.fullmatch(r"[A-Za-z][A-Za-z0-9.]{0,60}", code) else None
    return by_status(
        status if isinstance(status, int) else 0, metadata.get("HTTPHeaders"), detail=detail or f"HTTP {status}"
    )


_UNREACHABLE = says(DependencyUnavailable, DependencyUnavailable.message)
_TIMED_OUT = says(DependencyTimedOut, DependencyTimedOut.message)
_FAILED = says(DependencyFailed, DependencyFailed.message)
_NOT_SECURE = says(DependencyFailed, "no secure connection to a service that this tool relies on could be made")
_UNREADABLE = says(DependencyFailed, "a service that this tool relies on sent an answer that cannot be read")
_REDIRECTS = says(DependencyFailed, "a service that this tool relies on redirects in circles")
_BAD_URL = says(
    InvalidData,
    "the tool was to ask for a URL that is not valid",
    fix="If an argument is a URL, send it in full, like https://example.com/page.",
)
_NO_CREDENTIALS = says(AuthenticationRequired, "the server has no credentials for the service behind this tool")
_REFUSED_VALUES = says(
    DependencyFailed,
    "the service behind this tool cannot be asked with these values",
    fix=_CHECK_VALUES,
    retry="after_fix",
    fault_side="caller",
)


def _httpx(module: str) -> Table:
    return {
        f"{module}.{name}": rule
        for name, rule in {
            "HTTPStatusError": _of_response,
            "TimeoutException": _TIMED_OUT,
            "TransportError": _UNREACHABLE,
            "UnsupportedProtocol": _BAD_URL,
            "LocalProtocolError": _FAILED,
            "TooManyRedirects": _REDIRECTS,
            "DecodingError": _UNREADABLE,
            "HTTPError": _FAILED,
            "InvalidURL": _BAD_URL,
        }.items()
    }


TABLE: Table = {
    **_httpx("httpx"),
    **_httpx("httpx2"),
    "requests.exceptions.HTTPError": _of_response,
    "requests.exceptions.Timeout": _TIMED_OUT,
    "requests.exceptions.ConnectTimeout": _TIMED_OUT,
    "requests.exceptions.SSLError": _NOT_SECURE,
    "requests.exceptions.ConnectionError": _UNREACHABLE,
    "requests.exceptions.ChunkedEncodingError": _UNREACHABLE,
    "requests.exceptions.TooManyRedirects": _REDIRECTS,
    "requests.exceptions.InvalidJSONError": _UNREADABLE,
    "requests.exceptions.ContentDecodingError": _UNREADABLE,
    "requests.exceptions.MissingSchema": _BAD_URL,
    "requests.exceptions.InvalidSchema": _BAD_URL,
    "requests.exceptions.InvalidURL": _BAD_URL,
    "requests.exceptions.RequestException": _FAILED,
    "aiohttp.client_exceptions.ClientResponseError": _of_status,
    "aiohttp.client_exceptions.ServerTimeoutError": _TIMED_OUT,
    "aiohttp.client_exceptions.ClientConnectionError": _UNREACHABLE,
    "aiohttp.client_exceptions.TooManyRedirects": _REDIRECTS,
    "aiohttp.client_exceptions.ContentTypeError": _UNREADABLE,
    "aiohttp.client_exceptions.ClientPayloadError": _UNREADABLE,
    "aiohttp.client_exceptions.InvalidURL": _BAD_URL,
    "aiohttp.client_exceptions.ClientError": _FAILED,
    "urllib.error.HTTPError": _of_code,
    "urllib.error.URLError": _UNREACHABLE,
    "http.client.RemoteDisconnected": _UNREACHABLE,
    "http.client.InvalidURL": _BAD_URL,
    "http.client.HTTPException": _UNREADABLE,
    "botocore.exceptions.ClientError": _of_aws,
    "botocore.exceptions.SSLError": _NOT_SECURE,
    "botocore.exceptions.ConnectTimeoutError": _TIMED_OUT,
    "botocore.exceptions.ReadTimeoutError": _TIMED_OUT,
    "botocore.exceptions.ConnectionError": _UNREACHABLE,
    "botocore.exceptions.HTTPClientError": _UNREACHABLE,
    "botocore.exceptions.NoCredentialsError": _NO_CREDENTIALS,
    "botocore.exceptions.PartialCredentialsError": _NO_CREDENTIALS,
    "botocore.exceptions.CredentialRetrievalError": _NO_CREDENTIALS,
    "botocore.exceptions.TokenRetrievalError": _NO_CREDENTIALS,
    "botocore.exceptions.ParamValidationError": _REFUSED_VALUES,
    "botocore.exceptions.ValidationError": _REFUSED_VALUES,
    "botocore.exceptions.BotoCoreError": _FAILED,
}
