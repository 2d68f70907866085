"""`/channels/NAME`: where vendors deliver what people do. The channel itself checks who has sent it."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from upcall.channel_ports import Callback
from upcall.dispatch.service import Dispatch
from upcall.web.settings import WebSettings

PATH = "/channels/{name}"


def callback_routes(dispatch: Dispatch, settings: WebSettings) -> list[BaseRoute]:
    """The route to channels that are called."""

    async def receive(request: Request) -> Response:
        base = settings.public_url or str(request.base_url).rstrip("/")
        query = f"?{request.url.query}" if request.url.query else ""
        callback = Callback(
            method=request.method,
            url=f"{base}{request.url.path}{query}",
            body=await request.body(),
            query=dict(request.query_params),
            headers=dict(request.headers),
        )
        reply = await dispatch.called(request.path_params["name"], callback)
        return Response(reply.body, reply.status, media_type=reply.media_type)

    return [Route(PATH, receive, methods=["GET", "POST"])]
