"""`/channels/NAME`: where vendors deliver what people do. The channel itself checks who has sent it."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upcall.dispatch.dispatcher import Dispatch
from upcall.domain.errors import UnknownChannel
from upcall.http.body import read_body
from upcall.ports.channel import Callback
from upcall.web.settings import WebSettings

PATH = "/channels/{name}"
LARGEST = 3 * 1024 * 1024
"""Bytes of a call, which no vendor exceeds; who calls is known only once all of it is there."""


def callback_routes(dispatch: Dispatch, settings: WebSettings) -> list[BaseRoute]:
    """The route to channels that are called."""

    async def receive(request: Request) -> Response:
        base = settings.public_url or str(request.base_url).rstrip("/")
        query = f"?{request.url.query}" if request.url.query else ""
        if request.path_params["name"] not in dispatch.names:
            raise UnknownChannel(request.path_params["name"])
        callback = Callback(
            method=request.method,
            url=f"{base}{request.url.path}{query}",
            body=await read_body(request.receive, most=LARGEST),
            query=dict(request.query_params),
            headers=dict(request.headers),
        )
        reply = await dispatch.called(request.path_params["name"], callback)
        return Response(reply.body, reply.status, media_type=reply.media_type)

    return [Route(PATH, receive, methods=["GET", "POST"])]
