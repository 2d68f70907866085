"""What a scripted model is told and what it says next, in words of our own: no vendor's dialect is known here.

    model.play(Call("ask_human", {"question": "Which cache?"}), say_back)

Each turn is what the model says at once: words, calls of tools, or several of them in a list. A turn may also be a
function that looks at the conversation first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Say:
    """The model says something. A turn of nothing else is its last one."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool, named as its server names it: programs put prefixes of their own in front."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refuse:
    """The vendor's service refuses the request, as when it is overloaded or the key is wrong."""

    status: int
    message: str


Part = Say | Call
Turn = Part | Sequence[Part] | Refuse


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """Words to the model: the task, and what the program says on its own account."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The model's own words, as it is reminded of them."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call that the model made, under the name that the program has for the tool."""

    id: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a call."""

    id: str
    text: str


Message = Prompt | Said | Called | Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool on offer."""

    name: str
    namespace: str = ""
    freeform: bool = False
    """Takes text instead of arguments."""

    def is_called(self, name: str) -> bool:
        """Whether this is the tool that its maker calls `name`."""
        whole = f"{self.namespace}__{self.name}"
        return name in {self.name, whole} or self.name.endswith(f"_{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Everything that a request tells the model."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]

    @property
    def prompts(self) -> list[str]:
        """What it was told, oldest first."""
        return [message.text for message in self.messages if isinstance(message, Prompt)]

    @property
    def results(self) -> list[str]:
        """What came of its calls, oldest first."""
        return [message.text for message in self.messages if isinstance(message, Result)]

    def find(self, name: str) -> Tool:
        """The tool on offer that its maker calls `name`.

        Raises:
            ScriptError: if there is none, or more than one.
        """
        exact = [tool for tool in self.tools if tool.name == name and not tool.namespace]
        found = exact or [tool for tool in self.tools if tool.is_called(name)]
        if len(found) != 1:
            offered = ", ".join(sorted(tool.name for tool in self.tools))
            raise ScriptError(f"the script calls {name!r}, which names {len(found)} tools of: {offered}")
        return found[0]

    def faults(self) -> list[str]:
        """Why a vendor's service would refuse this history."""
        called = [message.id for message in self.messages if isinstance(message, Called)]
        told = [message.id for message in self.messages if isinstance(message, Result)]
        return [f"the call {each!r} has no result" for each in called if each not in told] + [
            f"the result {each!r} has no call" for each in told if each not in called
        ]


Look = Callable[[Conversation], Turn]
Step = Turn | Look


class ScriptError(Exception):
    """The script does not fit what the program did."""


def say_back(conversation: Conversation) -> Say:
    """The turn of a model that repeats what it heard last from a tool."""
    if not conversation.results:
        raise ScriptError("the script repeats a result, and there is none")
    return Say(f"I was told: {conversation.results[-1]}")
