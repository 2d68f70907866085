"""Either of two daemons is killed at any moment, again and again: nothing is lost, asked twice or answered otherwise.

`UPCALL_TEST_KILLS=100` kills as often as the promise says; a few times is what every run can afford.
"""

import os
import signal
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from random import Random

import pytest

from tests.stories.conftest import CACHE, Json, Scene
from tests.stories.test_two_daemons import answers_of, scenes
from upcall.cli.failures import Unreachable
from upcall.home.instance import stop_running

__all__ = ["scenes"]

KILLS = int(os.environ.get("UPCALL_TEST_KILLS", "3"))
AGENTS = 2
CHOICES = ["Redis", "Memcached"]


def kill(scene: Scene) -> None:
    """End a daemon the hard way, if there is one."""
    running = scene.home.running()
    if running is not None:
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)


def say(scene: Scene, inquiry: Json, choice: str) -> None:
    """Answer over a line that breaks: check whether the answer has arrived, and send it again if not."""
    while True:
        with suppress(Unreachable):
            settled = scene.answer(inquiry["ref"], choice)
            assert settled["inquiry"]["answer"]["answers"] == [[choice]]
            return


@pytest.mark.timeout(60 + 30 * KILLS)
def test_whichever_daemon_is_killed_every_agent_gets_the_answer_that_was_given(
    scenes: tuple[Scene, Scene],
) -> None:
    # The moments are chance; a seed would not bring them back.
    chance = Random()
    agents = [scene.agent() for scene in scenes for _ in range(AGENTS)]
    asked = 0
    with ThreadPoolExecutor(1) as killer, ThreadPoolExecutor(len(agents)) as threads:
        for _ in range(KILLS):
            # One after the other, so that each question is known to belong to its agent.
            calls: list[tuple[Future[Json], Json]] = [
                (threads.submit(agent.call, "ask_human", CACHE), scenes[0].next_question())
                for agent in agents
            ]
            asked += len(calls)
            before = chance.randrange(len(calls) + 1)
            given: list[str] = []
            deaths: list[Future[None]] = []
            for number, (_, inquiry) in enumerate(calls):
                if number == before:
                    deaths.append(killer.submit(kill, chance.choice(scenes)))
                given.append(chance.choice(CHOICES))
                say(chance.choice(scenes), inquiry, given[-1])
            if not deaths:
                kill(chance.choice(scenes))
            for death in deaths:
                death.result()
            assert [answers_of(call.result()) for call, _ in calls] == [[[choice]] for choice in given]
    for scene in scenes:
        assert scene.times_asked() == asked
        stop_running(scene.home)
