"""Which agents there are, by name: the built-in ones, those of the settings, and those that other packages bring."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from importlib.metadata import entry_points
from typing import cast

from upcall.agents.acp.adapter import Acp
from upcall.agents.command.adapter import CommandAgent
from upcall.agents.command.marked import MarkedAgent
from upcall.config.settings import TEMPLATED, AgentSettings
from upcall.domain.errors import InvalidSetting, UpcallError
from upcall.ports.agent import Agent

GROUP = "upcall.agents"
BUILT_IN = {
    "claude": "upcall.agents.claude.adapter:ClaudeCode",
    "codex": "upcall.agents.codex.adapter:Codex",
    "opencode": "upcall.agents.opencode.adapter:Opencode",
    "gemini": "upcall.agents.gemini.adapter:Gemini",
}

ONLY_READ = ("claude",)
"""Built-in adapters that talk to no process, so that all that a program says can be read for a marker."""

Make = Callable[[str], Agent]


class UnknownProgram(UpcallError):
    """No agent has that name."""

    code = "unknown_program"

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=1)
        meant = f"did you mean {close[0]!r}? " if close else ""
        super().__init__(
            f"there is no agent {name!r}",
            hint=f"{meant}there are {', '.join(names)}; others are set up as [agents.{name}] in upcall.toml",
        )
        self.name = name


def agent_names(agents: Mapping[str, AgentSettings]) -> list[str]:
    """The names that can be used."""
    return sorted({*BUILT_IN, *installed(), *agents})


def agent_named(name: str, agents: Mapping[str, AgentSettings], marker: str = "") -> Agent:
    """The adapter for an agent, as its settings want it.

    Settings that name no adapter are for the adapter with the agent's own name. `marker` is the default for agents that
    can ask by one.

    Raises:
        UnknownProgram: if there is none of that name.
        InvalidSetting: if its settings cannot be used.
    """
    settings = agents.get(name, AgentSettings())
    adapter = settings.adapter or name
    marker = settings.marker or marker
    makers = _makers(name, settings, marker)
    if adapter not in makers:
        if name in agents and settings.adapter:
            raise InvalidSetting(
                f"agents.{name}.adapter: there is no adapter {adapter!r}",
                hint=f"there are {', '.join(sorted(makers))}",
            )
        raise UnknownProgram(name, agent_names(agents))
    agent = makers[adapter](settings.program)
    agent.name = name
    return MarkedAgent(agent, marker) if marker and adapter in ONLY_READ else agent


def _makers(name: str, settings: AgentSettings, marker: str) -> Mapping[str, Make]:
    known = {each: partial(_loaded, place) for each, place in {**installed(), **BUILT_IN}.items()}
    templated: dict[str, Make] = {
        "acp": lambda program: Acp(_started(name, settings, program), name=name),
        "command": lambda program: CommandAgent(
            _started(name, settings, program),
            name=name,
            resume=settings.resume,
            resume_file=settings.resume_file,
            session_pattern=settings.session_pattern,
            marker=marker,
        ),
    }
    return known | templated


def _started(name: str, settings: AgentSettings, program: str) -> tuple[str, ...]:
    if not settings.start:
        raise InvalidSetting(
            f"agents.{name}.start: the adapters {' and '.join(TEMPLATED)} need a command to start",
            hint='for example start = ["mybot", "--task", "{task}"]',
        )
    return (program or settings.start[0], *settings.start[1:])


def _loaded(place: str, program: str) -> Agent:
    # Late, so that using one agent does not load the libraries of all others.
    module, _, attribute = place.partition(":")
    make = cast("Make", getattr(import_module(module), attribute))
    return make(program)


@cache
def installed() -> Mapping[str, str]:
    """The adapters of other packages, name to place; they cannot replace those that are built in.

    Cached: reading the entry points opens a file for each installed package, and the daemon asks on its event loop.
    """
    return {each.name: each.value for each in entry_points(group=GROUP)}
