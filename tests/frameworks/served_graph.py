"""A LangGraph server with an agent of langchain, in memory, as a program: it says in `port.txt` where it will be."""

# It runs in the environment of the frameworks.
# mypy: ignore-errors
# pyright: reportMissingImports=false

import socket
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph_api.cli import run_server


def remove(folder: str) -> str:
    """Remove a folder."""
    with Path("removed.txt").open("a") as log:
        print(folder, file=log)
    return f"removed {folder}"


def agent() -> Any:
    """The graph that the server is told of by name."""
    asks = HumanInTheLoopMiddleware(interrupt_on={"remove": True})
    return create_agent("openai:gpt-5", tools=[remove], middleware=[asks])


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    Path("port.new").write_text(str(port))
    Path("port.new").rename("port.txt")
    run_server("127.0.0.1", port, graphs={"agent": f"{__file__}:agent"}, allow_blocking=True)
