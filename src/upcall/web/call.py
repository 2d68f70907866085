"""One request on its way to a handler: its caller, its parameters and its body.

Errors are raised; the guard turns them into responses.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope

from upcall.domain.errors import InvalidRequest
from upcall.domain.roles import Caller
from upcall.http.bearer import header_of
from upcall.http.body import read_body
from upcall.ports.json_reading import read_json
from upcall.ports.unhurried import unhurried

Body = Mapping[str, object]


@dataclass(slots=True)
class Call:
    """A request, its caller, and the parameters that its route knows."""

    scope: Scope
    receive: Receive
    caller: Caller
    params: Mapping[str, str] = field(default_factory=dict)
    known: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The id, ref or name in the path."""
        return self.params["name"]

    def query(self) -> Mapping[str, str]:
        """The parameters after the question mark.

        Raises:
            InvalidRequest: if the route does not know one; a filter that is misspelt must not widen a list.
        """
        raw: bytes = self.scope["query_string"]
        if not raw:
            return {}
        sent = dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True))
        for name in sent:
            if name not in self.known:
                raise InvalidRequest(
                    f"there is no parameter {name!r}", hint=f"known here: {', '.join(self.known)}"
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
        raw = await read_body(self.receive)
        return await unhurried(len(raw), lambda: _object(raw))


Handler = Callable[[Call], Awaitable[ASGIApp]]
"""Takes a call and returns what is to be sent."""


def _object(raw: bytes) -> Body:
    sent = read_json(raw) if raw and not raw.isspace() else {}
    if not isinstance(sent, dict):
        raise InvalidRequest("the body is not a JSON object", hint='send an object like {"text": "yes"}')
    return cast("Body", sent)
