"""How an error looks over HTTP: a status, and a code, a message and a hint in JSON."""

import json

from starlette.exceptions import HTTPException
from starlette.responses import Response

from upcall.domain.errors import UpcallError

STATUSES = {
    "invalid_request": 400,
    "unauthenticated": 401,
    "not_allowed": 403,
    "unknown_agent": 403,
    "foreign_origin": 403,
    "link_revoked": 403,
    "unknown_inquiry": 404,
    "unknown_program": 404,
    "unknown_run": 404,
    "unknown_thread": 404,
    "unknown_token": 404,
    "unknown_rule": 404,
    "unknown_person": 404,
    "unknown_channel": 404,
    "unknown_link": 404,
    "not_found": 404,
    "method_not_allowed": 405,
    "key_conflict": 409,
    "run_conflict": 409,
    "prompt_pending": 409,
    "not_its_turn": 409,
    "not_answered": 409,
    "cannot_tell": 409,
    "question_not_alone": 409,
    "no_approval_needed": 409,
    "link_expired": 410,
    "link_used": 410,
    "too_large": 413,
    "foreign_host": 421,
    "invalid_inquiry": 422,
    "empty_answer": 422,
    "unreadable_answer": 422,
    "unfit_answer": 422,
    "note_unread": 422,
    "not_editable": 422,
    "edit_denied": 409,
    "unusable_file": 422,
    "not_your_decision": 403,
    "program_missing": 422,
    "package_missing": 422,
    "program_unfit": 422,
    "rate_limited": 429,
    "internal": 500,
    "invalid_setting": 500,
    "storage_error": 503,
    "lost_database": 503,
    "newer_database": 503,
    "storage_full": 507,
}
_HEADERS = {
    "unauthenticated": {"WWW-Authenticate": 'Bearer realm="upcall"'},
    "rate_limited": {"Retry-After": "1"},
    "storage_error": {"Retry-After": "5"},
}
_CODES = {
    400: "invalid_request",
    401: "unauthenticated",
    403: "not_allowed",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
}


class NotFound(UpcallError):
    """There is no route for that path."""

    code = "not_found"


class MethodNotAllowed(UpcallError):
    """The path exists, but not for that method."""

    code = "method_not_allowed"

    def __init__(self, method: str, allowed: str) -> None:
        super().__init__(f"{method} is not possible here", hint=f"use {allowed}")
        self.allowed = allowed


class UnknownToken(UpcallError):
    """No token has that name."""

    code = "unknown_token"


class ForeignHost(UpcallError):
    """The request was meant for another host, or a name was rebound to this one."""

    code = "foreign_host"


class ForeignOrigin(UpcallError):
    """The request was made by a page of another site."""

    code = "foreign_origin"


class TooLarge(UpcallError):
    """The body is larger than the limit."""

    code = "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"the body has more than {limit} bytes", hint="send less, or attach fewer files at once"
        )


def failure(error: UpcallError) -> Response:
    """The response for an error of ours."""
    headers = _HEADERS.get(error.code)
    if isinstance(error, MethodNotAllowed):
        headers = {"Allow": error.allowed}
    return _response(STATUSES.get(error.code, 500), error.code, error.message, error.hint, headers)


def http_failure(error: HTTPException) -> Response:
    """The response for an error that a mounted application raised in the framework's own way."""
    code = _CODES.get(error.status_code, "http_error")
    headers = None if error.headers is None else dict(error.headers)
    return _response(error.status_code, code, error.detail, None, headers)


def internal_failure() -> Response:
    """The response to a bug of ours; only the log has the details."""
    return _response(
        500, "internal", "something went wrong inside Upcall", "the daemon's log says what", None
    )


def _response(
    status: int, code: str, message: str, hint: str | None, headers: dict[str, str] | None
) -> Response:
    return Response(error_body(code, message, hint), status, headers, media_type="application/json")


def error_body(code: str, message: str, hint: str | None) -> bytes:
    """An error as a JSON document."""
    document = {"error": _error(code, message, hint)}
    # An error may quote what was sent, however broken it was.
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def error(problem: UpcallError) -> dict[str, str | None]:
    """An error among other things in a JSON document."""
    return _error(problem.code, problem.message, problem.hint)


def _error(code: str, message: str, hint: str | None) -> dict[str, str | None]:
    return {"code": code, "message": message, "hint": hint}
