"""`upcall langgraph serve`: interrupted threads of a LangGraph server reach a person, and go on with the answers."""

import os
from argparse import ArgumentParser, Namespace
from functools import partial

from upcall.cli.command import Command
from upcall.domain.inquiry.wording import duration

URL = "http://127.0.0.1:2024"
KEYS = ("LANGGRAPH_API_KEY", "LANGSMITH_API_KEY")
"""Variables with the key of a server that wants one, as the library of its clients reads them."""


def _serve(args: Namespace) -> int:
    import anyio

    from upcall.client.bridges import langgraph_server

    key = next((os.environ[name].strip() for name in KEYS if os.environ.get(name)), None)
    watch = partial(
        langgraph_server.serve,
        args.url,
        headers={"x-api-key": key} if key else None,
        every=duration(args.every),
        tell=partial(print, flush=True),
    )
    try:
        anyio.run(watch)
    except KeyboardInterrupt:
        return 0
    return 0


def _arguments(parser: ArgumentParser) -> None:
    inner = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    serve = inner.add_parser("serve", help="watch the server until it is stopped")
    serve.add_argument("--url", default=URL, help=f"where the server is; {URL} unless given")
    serve.add_argument("--every", default="2s", metavar="SPAN", help="how often to look; 2s unless given")


COMMAND = Command(
    _serve,
    _arguments,
    examples="""\
  upcall langgraph serve
  upcall langgraph serve --url https://graphs.example""",
)
