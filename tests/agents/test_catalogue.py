"""Agents by name: built in, set up, or brought by other packages."""

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path

import pytest

from upcall.agents import catalogue
from upcall.agents.catalogue import BUILT_IN, UnknownProgram, agent_named, agent_names
from upcall.config.settings import AgentSettings
from upcall.domain.errors import InvalidSetting
from upcall.testing.agent_contract import a_task

MYBOT = AgentSettings(adapter="command", start=("mybot", "{task}"))

ADAPTER = """
class Robot:
    def __init__(self, program=""):
        self.name = "robot"
        self._program = program or "robot"

    def program(self):
        return self._program
"""


@pytest.fixture
def unread() -> Iterator[None]:
    """The entry points as in a new process."""
    catalogue.installed.cache_clear()
    yield
    catalogue.installed.cache_clear()


@pytest.fixture
def robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unread: None) -> None:
    """Another package, installed, with an adapter of its own."""
    (tmp_path / "robot_adapter.py").write_text(ADAPTER)
    information = tmp_path / "robot_adapter-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: robot-adapter\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[upcall.agents]\nrobot = robot_adapter:Robot\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "robot_adapter", raising=False)


def test_an_agent_of_the_settings_is_found_by_its_name() -> None:
    agent = agent_named("mybot", {"mybot": MYBOT})

    assert agent.name == "mybot"
    assert agent.start(a_task(prompt="Do it")).argv == ("mybot", "Do it")


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_agent_is_started_from_where_the_settings_say(name: str) -> None:
    assert agent_named(name, {}).program() == name
    assert agent_named(name, {name: AgentSettings(program="/opt/it")}).start(a_task()).argv[0] == "/opt/it"


def test_an_acp_agent_is_a_command_line() -> None:
    agent = agent_named("g", {"g": AgentSettings(adapter="acp", start=("gemini", "--acp"))})

    assert agent.start(a_task()).argv == ("gemini", "--acp")
    assert agent.driver(a_task(), None) is not None


def test_a_program_of_the_settings_is_used_instead() -> None:
    settings = AgentSettings(adapter="command", start=("mybot", "{task}"), program="/opt/mybot")

    assert agent_named("mybot", {"mybot": settings}).start(a_task(prompt="x")).argv == ("/opt/mybot", "x")


@pytest.mark.promise("house/13")
@pytest.mark.usefixtures("robot")
def test_another_package_brings_an_agent_and_settings_change_it() -> None:
    assert agent_named("robot", {}).program() == "robot"
    assert agent_named("robot", {"robot": AgentSettings(program="/opt/robot")}).program() == "/opt/robot"
    mine = agent_named("r2", {"r2": AgentSettings(adapter="robot")})
    assert (mine.name, mine.program()) == ("r2", "robot")
    assert {"robot", *BUILT_IN} <= set(agent_names({}))


@pytest.mark.promise("house/7")
@pytest.mark.usefixtures("unread")
def test_a_process_reads_the_entry_points_of_other_packages_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(*, group: str) -> EntryPoints:
        read.append(group)
        return entry_points(group=group)

    monkeypatch.setattr(catalogue, "entry_points", counted)
    for name in BUILT_IN:
        agent_named(name, {})
    assert set(BUILT_IN) <= set(agent_names({}))
    with pytest.raises(UnknownProgram):
        agent_named("claud", {})

    assert read == ["upcall.agents"]


@pytest.mark.promise("spec/107")
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_agent_is_found_and_takes_the_program_of_its_settings(name: str) -> None:
    assert agent_named(name, {}).program() == name
    assert agent_named(name, {name: AgentSettings(program="/opt/it")}).program() == "/opt/it"


def test_a_table_can_take_a_built_in_name() -> None:
    agent = agent_named("claude", {"claude": AgentSettings(adapter="command", start=("my-claude",))})

    assert agent.program() == "my-claude"


def test_an_unknown_name_gets_the_nearest_and_the_list() -> None:
    with pytest.raises(UnknownProgram) as refused:
        agent_named("cluade", {"mybot": MYBOT})

    assert refused.value.message == "there is no agent 'cluade'"
    assert refused.value.hint is not None
    assert refused.value.hint.startswith(
        "did you mean 'claude'? there are claude, codex, gemini, mybot, opencode;"
    )


@pytest.mark.parametrize("name", ["acp", "command"])
def test_a_template_without_a_command_line_is_no_agent(name: str) -> None:
    with pytest.raises(InvalidSetting):
        agent_named(name, {})


def test_a_wrong_adapter_is_an_error_in_the_settings() -> None:
    with pytest.raises(InvalidSetting) as refused:
        agent_named("mybot", {"mybot": AgentSettings(adapter="comand")})

    assert "agents.mybot.adapter" in refused.value.message
    assert "command" in str(refused.value.hint)
