"""`upcall.smolagents`: the tool with which agents of smolagents ask the user (`pip install upcall[smolagents]`).

The library keeps no calls, so a program that was started again asks again.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

from typing import Any, Unpack

from smolagents import Tool, UserInputTool

from upcall.client import sync
from upcall.client.bridges.putting import without_key, words
from upcall.client.request import Waiting


def user_input(*, client: sync.Client | None = None, **waiting: Unpack[Waiting]) -> Tool:
    """A tool like `UserInputTool`, whose questions reach a person wherever they are; it returns what they said."""
    held = without_key(waiting)

    class AskHuman(UserInputTool):  # type: ignore[misc,unused-ignore]  # the library is untyped where it is not installed
        def forward(self, question: str) -> Any:
            ask = sync.ask if client is None else client.ask
            return words(ask(question, **held))

    return AskHuman()
