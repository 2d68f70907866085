"""An agent of Pydantic AI behind AG-UI, as a program: it says in `port.txt` where it is."""

# It runs in the environment of the frameworks.
# mypy: ignore-errors
# pyright: reportMissingImports=false

import socket
from pathlib import Path

import uvicorn
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

agent = Agent("openai-chat:gpt-5", output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def remove(folder: str) -> str:
    with Path("removed.txt").open("a") as log:
        print(folder, file=log)
    return f"removed {folder}"


async def serve(request: Request) -> Response:
    return await AGUIAdapter.dispatch_request(request, agent=agent)


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    Path("port.new").write_text(str(listening.getsockname()[1]))
    Path("port.new").rename("port.txt")
    app = Starlette(routes=[Route("/", serve, methods=["POST"])])
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
