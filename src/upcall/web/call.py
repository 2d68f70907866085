"""One request on its way to a handler, and the resources that requests are for.

A resource looks up who calls, hands the call to the handler for its method and sends what that returns. Errors are
raised; the guard turns them into responses.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import Caller, Role
from upcall.http.bearer import admit, header_of
from upcall.http.body import read_body
from upcall.http.errors import MethodNotAllowed
from upcall.ports.json_reading import read_json

NOBODY = Caller(name="", role=Role.AGENT)
"""Who calls a resource that asks for no token."""

Body = Mapping[str, object]


@dataclass(slots=True)
class Call:
    """A request of somebody known."""

    scope: Scope
    receive: Receive
    caller: Caller
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The id, ref or name in the path."""
        return self.params["name"]

    def query(self, *known: str) -> Mapping[str, str]:
        """The parameters after the question mark.

        Raises:
            InvalidRequest: if one is not among the known ones; a filter that is misspelt must not widen a list.
        """
        raw: bytes = self.scope["query_string"]
        if not raw:
            return {}
        sent = dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))
        for name in sent:
            if name not in known:
                raise InvalidRequest(
                    f"there is no parameter {name!r}", hint=f"known here: {', '.join(known)}"
                )
        return sent

    def header(self, wanted: bytes) -> str | None:
        """The first header of that name, in lower case."""
        return header_of(self.scope, wanted)

    async def body(self) -> Body:
        """The JSON object that was sent; nothing at all is an empty one.

        Raises:
            InvalidRequest: if it is anything else.
        """
        return _object(await read_body(self.receive))


Handler = Callable[[Call], Awaitable[ASGIApp]]
"""Takes a call and returns what is to be sent."""


class Resource:
    """What lives at one path: a handler for each method, for callers with a token unless it is public."""

    def __init__(self, access: Access, handlers: Mapping[str, Handler], *, public: bool = False) -> None:
        self.handlers = handlers
        self.public = public
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        handler = self.handlers.get(scope["method"])
        if handler is None:
            raise MethodNotAllowed(scope["method"], ", ".join(self.handlers))
        caller = NOBODY
        if not self.public:
            caller = await admit(self._access, scope)
        response = await handler(Call(scope, receive, caller, scope["path_params"]))
        await response(scope, receive, send)

    def at(self, path: str) -> Route:
        """A route to this resource."""
        return Route(path, self, name=path)


def _object(raw: bytes) -> Body:
    sent = read_json(raw) if raw and not raw.isspace() else {}
    if not isinstance(sent, dict):
        raise InvalidRequest("the body is not a JSON object", hint='send an object like {"text": "yes"}')
    return cast("Body", sent)
