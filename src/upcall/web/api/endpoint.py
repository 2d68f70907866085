"""One row of the route table: a method at a path, its handler, who may call it, what it takes and what it replies with.

`resources` turns rows into routes that check the caller's role; `openapi.py` describes the same rows.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from upcall.access.tokens import Access
from upcall.domain.errors import NotAllowed
from upcall.domain.roles import Caller, Role, require_admin, require_person
from upcall.http.bearer import admit
from upcall.http.errors import MethodNotAllowed
from upcall.web.api.schemas.words import Schema, ref
from upcall.web.call import Call, Handler

ANONYMOUS = Caller(name="", role=Role.AGENT)
"""The caller of a resource that asks for no token."""

JSON = "application/json"

Replies = dict[int, Schema]
"""Responses as OpenAPI describes them, by status."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The least role that may call, None for callers without a token, and what a refusal says that others cannot do.

    A monitor has its own list: what is for `monitors` too.
    """

    role: Role | None
    action: str = ""
    monitors: bool = False

    def check(self, caller: Caller) -> None:
        """Let a caller through.

        Raises:
            NotAllowed: if its role is too small.
        """
        if caller.role is Role.MONITOR:
            if not self.monitors:
                raise NotAllowed(
                    "a monitor's token reads metrics and nothing else",
                    hint="use an agent's or a person's token",
                )
            return
        match self.role:
            case Role.ADMIN:
                require_admin(caller, self.action)
            case Role.PERSON:
                require_person(caller, self.action)
            case Role.AGENT | Role.MONITOR | None:
                pass


PUBLIC, AGENTS = Allowed(None), Allowed(Role.AGENT)
"""Without a token; with any token but a monitor's, since people and admins may do what an agent may."""


def people(action: str) -> Allowed:
    """Persons and admins."""
    return Allowed(Role.PERSON, action)


def admins(action: str) -> Allowed:
    """Admins alone."""
    return Allowed(Role.ADMIN, action)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A handler is named as a method of its class; the first line of its docstring is the summary."""

    route: str
    """The method and the path, with a space between them."""
    handler: Callable[[Any, Call], Awaitable[ASGIApp]]
    allowed: Allowed
    replies: Replies
    body: Schema | None = None
    parameters: tuple[Schema, ...] = ()

    @property
    def method(self) -> str:
        """The method, in capitals."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The path, with its parameters in braces."""
        return self.route.partition(" ")[2]

    def query(self) -> tuple[str, ...]:
        """The names of the parameters after the question mark."""
        return tuple(str(each["name"]) for each in self.parameters if each["in"] == "query")


Served = tuple[Handler, Allowed, tuple[str, ...]]
"""A handler, who may call it, and the parameters that it knows."""


class Resource:
    """What lives at one path, by method."""

    def __init__(self, access: Access, served: Mapping[str, Served]) -> None:
        self._access = access
        self.served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = self.served.get(scope["method"])
        if found is None:
            raise MethodNotAllowed(scope["method"], ", ".join(self.served))
        handler, allowed, known = found
        caller = ANONYMOUS
        if allowed.role is not None:
            caller = await admit(self._access, scope, monitors=True)
            allowed.check(caller)
        response = await handler(Call(scope, receive, caller, scope["path_params"], known))
        await response(scope, receive, send)


def resources(endpoints: Iterable[Endpoint], access: Access, handlers: Sequence[object]) -> list[BaseRoute]:
    """A route for each path, in the order of the table."""
    bound: dict[object, Handler] = {
        method: getattr(owner, name)
        for owner in handlers
        for name, method in vars(type(owner)).items()
        if callable(method)
    }
    served: dict[str, dict[str, Served]] = {}
    for each in endpoints:
        served.setdefault(each.path, {})[each.method] = (bound[each.handler], each.allowed, each.query())
    return [Route(path, Resource(access, methods), name=path) for path, methods in served.items()]


def reply(
    status: int, schema: Schema | str, description: str = "", *, media: str = JSON, example: str = ""
) -> Replies:
    """A response; text names a schema of the document, and where there is nothing to add, the status describes it.

    What is no JSON brings an `example`; those of JSON are made from its schema.
    """
    content: Schema = {"schema": ref(schema) if isinstance(schema, str) else schema}
    content |= {"example": example} if example else {}
    return {status: {"description": description or HTTPStatus(status).phrase, "content": {media: content}}}


def takes(name: str, example: Schema) -> Schema:
    """A body in JSON, with an example."""
    return {"content": {JSON: {"schema": ref(name), "example": example}}}


def query(name: str, schema: Schema, description: str = "") -> Schema:
    """A parameter after the question mark."""
    parameter: Schema = {"name": name, "in": "query", "schema": schema}
    return {**parameter, "description": description} if description else parameter


def path(name: str, schema: Schema) -> Schema:
    """A parameter in the path."""
    return {"name": name, "in": "path", "required": True, "schema": schema}
