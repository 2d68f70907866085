"""`upcall.smolagents`: the tool with which agents of smolagents ask the user (`pip install upcall[smolagents]`).

The library keeps nothing of a run, and its tools are not told the id of their call: a run that is started again begins anew, and
only the name of the work and the words of a question tell that it is the same one.
"""

# The library is in an environment of its own: see `frameworks` in pyproject.toml.
# pyright: reportMissingImports=false

from typing import Any, Unpack

from smolagents import Tool, UserInputTool

from upcall.client import sync
from upcall.client.bridges.putting import Occurrences, call_key, keyed, without_key, words
from upcall.client.request import Waiting


def user_input(run: str = "", *, client: sync.Client | None = None, **waiting: Unpack[Waiting]) -> Tool:
    """A tool like `UserInputTool`, whose questions reach a person wherever they are; it returns what they said.

    `run` names the work: in a program that was started again with the same one, a question that the agent asks again in the same
    words is rejoined, and gets the stored answer. Without it, each question is a new one. Give work that is to be asked anew
    another name, and each run a tool of its own.
    """
    without_key(waiting)
    met = Occurrences()

    class AskHuman(UserInputTool):  # type: ignore[misc,unused-ignore]  # the library is untyped where it is not installed
        def forward(self, question: str) -> Any:
            ask = sync.ask if client is None else client.ask
            key = call_key("smolagents", run, question, met.number(question)) if run else ""
            return words(ask(question, **keyed(key, waiting)))

    return AskHuman()
