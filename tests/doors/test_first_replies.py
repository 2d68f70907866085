"""What `upcall mcp` tells an agent while there is no daemon yet, or one that says nothing."""

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doors.agent import INITIALIZE, PATIENCE, agent
from tests.doors.house import House
from upcall import __version__
from upcall.domain.inquiry.limits import Limits
from upcall.doors.mcp import wire
from upcall.doors.mcp.definitions import definitions
from upcall.doors.pipe import first_replies
from upcall.home.files import Home
from upcall.home.instance import stop_running

QUESTION = {"question": "Which cache?", "options": ["Redis", "None"]}


@pytest.fixture
def mute() -> Iterator[socket.socket]:
    """A daemon's socket behind which nothing happens yet."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def announce(home: Home, listening: socket.socket) -> None:
    told = {
        "pid": os.getpid(),
        "url": "",
        "pipe_port": listening.getsockname()[1],
        "token": "",
        "version": "",
    }
    home.write_private(home.runtime_file, json.dumps(told))


def wait_for(path: Path) -> None:
    """Return once there is such a file."""
    for _ in range(int(PATIENCE / 0.05)):
        if path.exists():
            return
        time.sleep(0.05)
    raise TimeoutError(f"there never was {path}")


@pytest.mark.promise("trust/70")
def test_an_agent_has_the_tools_before_the_daemon_says_a_word(house: House, mute: socket.socket) -> None:
    with agent(house.home) as someone:
        someone.initialize()
        theirs = someone.ask(1, "tools/list")["result"]
    house.stop()
    announce(house.home, mute)
    with agent(house.home, UPCALL_WAIT="block") as someone:
        first = someone.ask("init", "initialize", {**INITIALIZE, "protocolVersion": "2025-06-18"})["result"]
        someone.send("notifications/initialized")
        assert first == wire.initialized("2025-06-18")
        assert someone.ask(1, "tools/list")["result"] == theirs
        someone.call(2, "ask_human", QUESTION)
        house.start()
        mute.close()
        house.answer(house.opened()[0].id, "1")
        assert someone.reply(2)["result"]["structuredContent"]["answers"] == [["Redis"]]
        assert not someone.has_reply("init")


def test_the_daemon_is_started_by_the_handshake_alone(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    with agent(home) as someone:
        someone.send("initialize", INITIALIZE, request_id=1)
        try:
            # Without another word of the agent.
            wait_for(home.runtime_file)
            assert home.running() is not None
        finally:
            assert stop_running(home)


def test_the_list_is_the_one_of_the_latest_daemon_with_these_settings(
    tmp_path: Path, mute: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path / "home")
    home.create()
    home.config_file.write_text('tool_aliases = ["ask_user"]\n[limits]\nlabel = 30\n')
    assert first_replies.known_replies(home) == {}
    with agent(home) as someone:
        try:
            someone.initialize()
            theirs = someone.ask(1, "tools/list")["result"]
        finally:
            assert stop_running(home)
    announce(home, mute)
    with agent(home) as someone:
        someone.initialize(met=False)
        listed = someone.ask(1, "tools/list")["result"]
        assert listed == theirs
        assert "ask_user" in [tool["name"] for tool in listed["tools"]]
    monkeypatch.setenv("UPCALL_LIMITS_LABEL", "20")
    assert first_replies.known_replies(home) == {}
    monkeypatch.delenv("UPCALL_LIMITS_LABEL")
    assert first_replies.known_replies(home)
    home.config_file.write_text("")
    assert first_replies.known_replies(home) == {}


def test_without_settings_the_list_is_known_before_any_daemon_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("UPCALL_TOKEN", raising=False)
    home = Home(tmp_path / "home")
    assert first_replies.known_replies(home) == wire.first_replies(definitions(Limits()))
    assert __version__ in json.dumps(first_replies.default_replies()["initialize"])
    assert first_replies.HANDSHAKE_VERSIONS == wire.HANDSHAKE_VERSIONS


def test_a_token_of_its_own_may_have_more_tools_and_is_told_by_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UPCALL_TOKEN", "upcall_agent_x")
    assert first_replies.known_replies(Home(tmp_path / "home")) == {}


@pytest.mark.parametrize(
    "requests",
    [
        [{"method": "ping"}, {"method": "initialize", "params": INITIALIZE}],
        [{"method": "initialize", "params": {"protocolVersion": "2025-06-18"}}],
        [{"method": "initialize", "params": 5}],
        [{"method": "tools/list"}],
    ],
)
def test_what_the_daemon_might_refuse_is_left_to_it(
    tmp_path: Path, requests: list[dict[str, object]]
) -> None:
    replies = first_replies.FirstReplies(Home(tmp_path / "home"))
    assert [replies.to(request) for request in requests] == [None] * len(requests)


@pytest.mark.parametrize(
    "params", [{"cursor": "x"}, {"_meta": 5}, {"_meta": {wire.VERSION_KEY: "2026-07-28"}}]
)
def test_a_list_that_is_asked_for_in_another_way_is_left_to_the_daemon(
    tmp_path: Path, params: object
) -> None:
    replies = first_replies.FirstReplies(Home(tmp_path / "home"))
    assert replies.to({"method": "initialize", "params": INITIALIZE}) is not None
    assert replies.to({"method": "tools/list", "params": params}) is None
    assert replies.to({"method": "tools/list", "params": {"_meta": {"progressToken": 1}}}) is not None
