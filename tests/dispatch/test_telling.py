"""Lines told to people are jobs: kept, said in their order, and said again until the vendor takes them."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.dispatch.test_dispatch import ONE, Hall, a_hall
from upcall.domain.channel.routing import Route
from upcall.ports.channel import Inbox, Line, Refused, Unavailable
from upcall.testing.examples import Clock


class Talking(ScriptedChannel):
    """Says lines, once it has used up its problems."""

    problems: list[Exception] = []  # noqa: RUF012 - each test sets its own

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []
        self.silent = False

    async def say(self, to: Mapping[str, str], line: str) -> None:
        self.attempts += 1
        self._changed.set()
        if self.silent:
            await asyncio.Event().wait()
        if self.problems:
            raise self.problems.pop(0)
        self.said.append((to["user"], line))
        self._changed.set()


@pytest.fixture(autouse=True)
def talking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.dispatch.test_dispatch.ScriptedChannel", Talking)
    monkeypatch.setattr(Talking, "problems", [])


async def heard(hall: Hall) -> tuple[Talking, Inbox]:
    channel = hall.one
    assert isinstance(channel, Talking)
    await channel.until(lambda: channel.inbox is not None)
    assert channel.inbox is not None
    return channel, channel.inbox


@pytest.mark.promise("trust/52")
@pytest.mark.thorough
async def test_a_transient_error_delays_lines_and_keeps_their_order(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel, inbox = await heard(hall)
        channel.problems = [
            Unavailable("busy", after=0.01),
            Unavailable("away"),
            Unavailable("busy", after=0),
        ]
        for number in range(3):
            await inbox.say(Line(id=f"{number}", to={"user": "U1"}, text=f"line {number}"))
        await channel.until(lambda: len(channel.said) == 3)
        assert channel.said == [("U1", f"line {number}") for number in range(3)]


@pytest.mark.promise("trust/52")
async def test_a_line_survives_the_daemon_that_was_about_to_say_it(tmp_path: Path) -> None:
    clock = Clock()
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        channel, inbox = await heard(hall)
        channel.silent = True
        await inbox.say(Line(id="1", to={"user": "U1"}, text="too late"))
        await channel.until(lambda: channel.attempts == 1)
    async with a_hall(tmp_path, Route(places=(ONE,)), clock=clock) as hall:
        channel, _ = await heard(hall)
        await channel.until(lambda: channel.said == [("U1", "too late")])


async def test_the_listeners_reconnection_says_what_had_to_wait(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel, inbox = await heard(hall)
        channel.problems = [Unavailable("busy", after=60.0)]
        await inbox.say(Line(id="1", to={"user": "U1"}, text="which one?"))
        await channel.until(lambda: channel.attempts == 1)
        async with asyncio.timeout(20):
            while not channel.said:
                await inbox.connected()
                await hall.dispatch.faults("one")


async def test_a_line_that_is_refused_holds_up_no_other(tmp_path: Path) -> None:
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        channel, inbox = await heard(hall)
        channel.problems = [Refused("this person is gone"), KeyError("ts")]
        for number in range(3):
            await inbox.say(Line(id=f"{number}", to={"user": "U1"}, text=f"line {number}"))
        await channel.until(lambda: channel.said == [("U1", "line 2")])
