"""The table of paths finds what the framework's router would find, and leaves everything else to it."""

from pathlib import Path

import pytest
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.web.house import House
from upcall.dispatch.answer_links import AnswerLinks
from upcall.web.app import Backend, WebSettings, api_routes
from upcall.web.path_table import PathTable

Served = list[tuple[str, object]]


class Named:
    """An application that notes under its name what it was called with."""

    def __init__(self, name: str, served: Served) -> None:
        self._name = name
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._served.append((self._name, scope.get("path_params")))


async def served_by(app: ASGIApp, served: Served, scope: Scope) -> tuple[str, object]:
    async def never() -> Scope:
        raise AssertionError

    async def nothing(message: object) -> None:
        raise AssertionError

    await app({"type": "http", "method": "GET", "root_path": "", **scope}, never, nothing)
    return served.pop()


@pytest.mark.promise("proof/22")
async def test_every_route_of_the_api_is_found_as_the_router_finds_it(house: House, tmp_path: Path) -> None:
    links = AnswerLinks(house.broker, house.access)
    backend = Backend(
        broker=house.broker,
        access=house.access,
        runs=house.runs,
        settings=WebSettings(version="1"),
        links=links,
    )
    paths = [route.path for route in api_routes(backend) if isinstance(route, Route)]
    served: Served = []
    routes = [Route(path, Named(path, served)) for path in paths]
    table = PathTable(routes, Named("otherwise", served))
    for path in paths:
        asked = path.replace("{name}", "a7").replace("{number}", "3")
        scope: Scope = {"type": "http", "method": "GET", "path": asked, "root_path": ""}
        first = next(route for route in routes if route.matches(scope)[0] is Match.FULL)
        found, parameters = await served_by(table, served, {"path": asked})
        assert (found, parameters) == (first.path, first.matches(scope)[1]["path_params"])


@pytest.mark.promise("proof/22")
@pytest.mark.parametrize(
    "scope",
    [
        {"path": "/v1/inquiries/"},
        {"path": "/v1/inquiries/a7/"},
        {"path": "/v1/inquiries//answer"},
        {"path": "/v1/inquiries/a7/answers"},
        {"path": "/v1/inquiries/a7/answer/more"},
        {"path": "/v1"},
        {"path": "/"},
        {"path": ""},
        {"path": "/v1/inquiries/a7/answer", "root_path": "/elsewhere"},
        {"path": "/v1/inquiries/a7/answer", "type": "websocket"},
    ],
)
async def test_what_is_not_in_the_table_goes_to_the_router(scope: Scope) -> None:
    served: Served = []
    paths = ("/v1/inquiries", "/v1/inquiries/{name}/answer")
    table = PathTable([Route(path, Named(path, served)) for path in paths], Named("router", served))
    assert await served_by(table, served, scope) == ("router", None)
