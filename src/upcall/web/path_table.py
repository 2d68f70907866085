"""Finds the route of a request by the segments of its path: as fast with a hundred routes as with three.

The framework's router, which tries one pattern after the other, stays behind this table for everything that is not in it.
"""

from collections.abc import Iterable
from typing import Self

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send


class _Node:
    """What may follow after some segments: one that is named, or any one as a parameter; or the end of a path."""

    __slots__ = ("app", "named", "parameter", "parameters")

    def __init__(self) -> None:
        self.named: dict[str, Self] = {}
        self.parameter: Self | None = None
        self.app: ASGIApp | None = None
        self.parameters: tuple[str, ...] = ()


class PathTable:
    """An application with routes whose parameters are whole segments; `otherwise` serves what is not among them."""

    def __init__(self, routes: Iterable[BaseRoute], otherwise: ASGIApp) -> None:
        self._otherwise = otherwise
        self._root = _Node()
        for route in routes:
            if isinstance(route, Route):
                self._add(route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        app = self._found(scope) if scope["type"] == "http" and not scope.get("root_path") else None
        await (self._otherwise if app is None else app)(scope, receive, send)

    def _add(self, route: Route) -> None:
        node, names = self._root, list[str]()
        for segment in route.path.split("/"):
            if not segment.startswith("{"):
                node = node.named.setdefault(segment, _Node())
                continue
            names.append(segment[1:-1])
            node.parameter = node.parameter or _Node()
            node = node.parameter
        # As with the router, the first route of a path is the one that counts.
        if node.app is None:
            node.app, node.parameters = route.app, tuple(names)

    def _found(self, scope: Scope) -> ASGIApp | None:
        """The application at a path, which the scope then has the parameters of."""
        node = self._root
        values: list[str] = []
        for segment in scope["path"].split("/"):
            following = node.named.get(segment)
            if following is None:
                values.append(segment)
                following = node.parameter if segment else None
            if following is None:
                return None
            node = following
        if node.app is not None:
            scope["path_params"] = dict(zip(node.parameters, values, strict=True))
        return node.app
