"""A child process that answers the same requests with constants, on the daemon's own stack: the limit over HTTP."""

import asyncio
import gc
import json
import socket
import sys

import uvicorn
import uvloop
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from benchmarks.samples import an_inquiry, answered
from upcall.domain.document import document
from upcall.http.guard import Guard
from upcall.web.settings import WebSettings


class Constant:
    """An ASGI application that reads what it is sent and always says the same."""

    def __init__(self, said: object, status: int = 200) -> None:
        self._body = json.dumps(said, separators=(",", ":")).encode()
        self._status = status

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(self._body))]
        await send({"type": "http.response.start", "status": self._status, "headers": headers})
        await send({"type": "http.response.body", "body": self._body})


def application() -> Guard:
    """The routes that a cycle takes, behind our guard."""
    inquiry = an_inquiry(1)
    change = answered(inquiry)
    assert change is not None
    settled = document(change.inquiry)
    routes = [
        Route("/v1/inquiries", Constant(document(inquiry), 201)),
        Route("/v1/inquiries/{name}/wait", Constant(settled)),
        Route("/v1/inquiries/{name}/answer", Constant({"accepted": True, "inquiry": settled})),
    ]
    return Guard(Router(routes, redirect_slashes=False), body_limit=WebSettings(version="0").body_limit)


async def main() -> None:
    """Serve until our input is closed; the first line of output is the port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=4096)
    server = uvicorn.Server(
        uvicorn.Config(
            application(),
            http="httptools",
            ws="none",
            loop="none",
            lifespan="off",
            access_log=False,
            log_config=None,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=1,
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    print(listening.getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.should_exit = True
    await serving


if __name__ == "__main__":
    uvloop.run(main())
