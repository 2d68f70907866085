"""Checks of a message before it is handled. The errors are those of the official SDK."""

from collections.abc import Mapping
from typing import cast

from upcall.domain.errors import InvalidRequest
from upcall.doors.mcp import wire
from upcall.doors.mcp.broken_line import id_in
from upcall.doors.mcp.meta import meta_of
from upcall.doors.mcp.wire import Message, RequestId
from upcall.ports.json_reading import NotJson, read_json

INVALID = "Invalid request parameters"


class ProtocolError(Exception):
    """A request that gets a protocol error. `request_id` is a guess where the message could not be read."""

    def __init__(
        self, code: int, message: str, data: object = None, *, request_id: RequestId | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data
        self.request_id = request_id


class NoMessage(ProtocolError):
    """A line that is no JSON at all."""


def message_of(line: bytes) -> Mapping[str, object]:
    """The message on a line.

    Raises:
        NoMessage: if it is no JSON.
        ProtocolError: if it is JSON, but no message that can be handled.
    """
    try:
        message = read_json(line, "the message")
    except NotJson:
        raise NoMessage(wire.PARSE_ERROR, "Parse error: a message is one line of JSON") from None
    except InvalidRequest as problem:
        request_id = id_in(line)
        code = wire.PARSE_ERROR if request_id is None else wire.INVALID_REQUEST
        raise ProtocolError(code, problem.message, request_id=request_id) from None
    if isinstance(message, list):
        raise ProtocolError(wire.INVALID_REQUEST, "batches are not supported: send one message per line")
    if not isinstance(message, dict):
        raise ProtocolError(wire.INVALID_REQUEST, "a message is a JSON object")
    return cast("Mapping[str, object]", message)


def id_of(message: Mapping[str, object]) -> RequestId | None:
    """The id of a request; None for a notification, which has none."""
    request_id = message.get("id")
    if "id" in message and not is_id(request_id):
        raise ProtocolError(wire.INVALID_REQUEST, "id must be a string or an integer")
    return cast("RequestId | None", request_id)


def is_id(value: object) -> bool:
    """Whether this can be the id of a request."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def negotiated(params: Mapping[str, object]) -> str:
    """The protocol version for an `initialize`: the client's if it is known, else our latest."""
    asked, info = params.get("protocolVersion"), params.get("clientInfo")
    described = isinstance(info, Mapping) and all(
        isinstance(cast("Mapping[str, object]", info).get(name), str) for name in ("name", "version")
    )
    if not (isinstance(asked, str) and isinstance(params.get("capabilities"), Mapping) and described):
        raise ProtocolError(wire.INVALID_PARAMS, INVALID, "")
    return asked if asked in wire.HANDSHAKE_VERSIONS else wire.HANDSHAKE_VERSIONS[-1]


def check_envelope(params: Mapping[str, object]) -> None:
    """What every request since 2026-07-28 must say about itself."""
    if not isinstance(params.get("_meta"), Mapping):
        raise ProtocolError(
            wire.INVALID_PARAMS,
            f"params._meta must be an object carrying the required {wire.VERSION_KEY!r} and "
            f"{wire.CAPABILITIES_KEY!r} envelope keys",
        )
    meta = meta_of(params)
    missing = [key for key in (wire.VERSION_KEY, wire.CAPABILITIES_KEY) if key not in meta]
    if missing:
        raise ProtocolError(
            wire.INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        )
    version = meta[wire.VERSION_KEY]
    if not isinstance(version, str):
        raise ProtocolError(wire.INVALID_PARAMS, "the protocol-version envelope value must be a string")
    if version not in wire.MODERN_VERSIONS:
        data: Message = {"supported": list(wire.MODERN_VERSIONS), "requested": version}
        raise ProtocolError(wire.UNSUPPORTED_VERSION, "Unsupported protocol version", data)
