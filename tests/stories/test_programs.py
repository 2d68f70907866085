"""Programs that ask through the client, as real processes beside a real daemon that is killed and restarted."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.stories.conftest import Scene
from upcall.home.instance import stop_running

DEPLOY = """
import anyio, upcall

async def main():
    answer = await upcall.ask("Deploy where?", options=["staging", "production"], key="deploy-117", progress=tell)
    print(type(answer).__name__, answer.text, "by", answer.by, flush=True)

def tell(progress):
    print(progress.stage, progress.inquiry["ref"], flush=True)

anyio.run(main)
"""
IN_A_LOOP_OF_ANOTHER = """
import asyncio, upcall

async def framework():
    verdict = upcall.sync.approve("bash", {"command": "make deploy"}, cwd="/srv/shop")
    print(type(verdict).__name__, verdict.input["command"], flush=True)

asyncio.run(framework())
"""


@contextmanager
def a_program(scene: Scene, text: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UPCALL_")}
    with subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        text=True,
        env=environment | {"UPCALL_HOME": str(scene.home.path)} | variables,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def line_of(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


@pytest.mark.promise("programs/5", "programs/6")
def test_a_program_that_was_killed_rejoins_its_question_and_gets_the_stored_answer(scene: Scene) -> None:
    stop_running(scene.home)

    with a_program(scene, DEPLOY) as first:
        # No daemon ran: the program has started one.
        asked = line_of(first).split()
        os.kill(first.pid, signal.SIGKILL)
    scene.answer(asked[1], "production")

    with a_program(scene, DEPLOY) as second:
        assert line_of(second) == f"asked {asked[1]}"
        assert line_of(second).startswith("Answered production by ")
        assert second.wait(60) == 0

    assert scene.times_asked() == 1
    assert scene.show(asked[1])["answer"]["collected_at"]


@pytest.mark.promise("programs/13")
def test_a_daemon_that_is_killed_and_restarted_under_a_program_is_asked_nothing_twice(scene: Scene) -> None:
    with a_program(scene, DEPLOY) as program:
        ref = line_of(program).split()[1]
        scene.kill_daemon()
        assert line_of(program) == f"reconnecting {ref}"
        stop_running(scene.home)
        scene.answer(ref, "staging")
        told = line_of(program)
        while told.startswith(("reconnecting", "waiting")):
            told = line_of(program)

    assert told.startswith("Answered staging by ")
    assert scene.times_asked() == 1


@pytest.mark.promise("programs/5")
def test_a_program_goes_by_address_and_token_and_blocks_below_a_running_loop(scene: Scene) -> None:
    running = scene.daemon()
    elsewhere = {"UPCALL_URL": running.url, "UPCALL_TOKEN": running.token, "UPCALL_HOME": "/nonexistent"}
    with a_program(scene, IN_A_LOOP_OF_ANOTHER, **elsewhere) as program:
        inquiry = scene.next_question()
        assert (inquiry["kind"], inquiry["action"]["cwd"]) == ("approval", "/srv/shop")
        scene.answer(inquiry["ref"], "yes")
        assert line_of(program) == "Allowed make deploy"
        assert program.wait(60) == 0
