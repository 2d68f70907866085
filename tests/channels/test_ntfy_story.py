"""A button of a push message answers: from a real daemon to ntfy and back, over real sockets."""

import asyncio
import socket
from functools import partial
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession

from tests.channels.test_notifiers import served
from tests.cli.conftest import Program

SETTINGS = """
port = {port}
public_url = "http://127.0.0.1:{port}"

[channels.ntfy]
server = "{server}"
token = "tk_1"

[[routes]]
to = ["ntfy:topic"]
"""


def a_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


async def test_a_button_of_a_push_message_answers_once(tmp_path: Path) -> None:
    async with served() as service, ClientSession() as phone:
        program = Program(tmp_path / "home")
        program.home.mkdir(mode=0o700)
        settings = SETTINGS.format(port=a_free_port(), server=service.url)
        (program.home / "upcall.toml").write_text(settings)
        try:
            added = await anyio.to_thread.run_sync(
                lambda: program("people", "add", "ana", "--identity", "ntfy:topic")
            )
            assert added.returncode == 0, added.stderr
            asking = asyncio.create_task(
                anyio.to_thread.run_sync(
                    lambda: program("ask", "Which cache?", "-o", "Redis", "-o", "Memcached")
                )
            )
            message = await service.arrived()
            first, second, opening = message["actions"]
            assert (first["label"], second["label"], opening["url"]) == ("Redis", "Memcached", first["url"])
            posted = await phone.post(second["url"], data=second["body"], headers=second["headers"])
            assert posted.status == 200
            assert (await asking).stdout == "Memcached\n"
            again = await phone.post(first["url"], data=first["body"], headers=first["headers"])
            assert again.status == 410
            shown = await anyio.to_thread.run_sync(lambda: program("show", message["title"].split()[-1]))
            assert "ana" in shown.stdout
        finally:
            await anyio.to_thread.run_sync(lambda: program("down"))


REMINDING = """
port = {port}
public_url = "http://127.0.0.1:{port}"

[channels.ntfy]
server = "{server}"
token = "tk_1"

[channels.pager]
kind = "apprise"
url = "{pager}"

[[routes]]
to = ["ntfy:topic", "pager:ana"]
remind = "1s"
remind_most = 1
"""


@pytest.mark.promise("trust/59")
async def test_reminders_say_what_they_are_about_and_where_to_answer(tmp_path: Path) -> None:
    async with served() as service:
        program = Program(tmp_path / "home")
        program.home.mkdir(mode=0o700)
        pager = service.url.replace("http", "json")
        settings = REMINDING.format(port=a_free_port(), server=service.url, pager=pager)
        (program.home / "upcall.toml").write_text(settings)
        try:
            for identity in ("ntfy:topic", "pager:ana"):
                adding = partial(program, "people", "add", "ana", "--identity", identity)
                added = await anyio.to_thread.run_sync(adding)
                assert added.returncode == 0, added.stderr
            asking = asyncio.create_task(
                anyio.to_thread.run_sync(lambda: program("ask", "Which cache?", "-o", "Redis"))
            )
            await service.arrived(3)
            ref = next(each for each in service.taken if "topic" in each)["title"].split()[-1]
            reminders = [each for each in service.taken if "Still waiting" in each["message"]]
            assert len(reminders) == 2
            for reminder in reminders:
                about, link = reminder["message"].strip().split("\n")[1:]
                assert about.endswith(f" · {ref}")
                assert link.startswith("http://127.0.0.1:")
                assert "/a/" in link
                # ntfy opens it when the message itself is clicked.
                assert reminder.get("click", link) == link
            await anyio.to_thread.run_sync(lambda: program("answer", ref, "Redis"))
            await asking
        finally:
            await anyio.to_thread.run_sync(lambda: program("down"))


@pytest.mark.promise("trust/59")
async def test_a_button_that_is_pressed_too_late_is_told_so(tmp_path: Path) -> None:
    async with served() as service, ClientSession() as phone:
        program = Program(tmp_path / "home")
        program.home.mkdir(mode=0o700)
        settings = SETTINGS.format(port=a_free_port(), server=service.url)
        (program.home / "upcall.toml").write_text(settings)
        try:
            await anyio.to_thread.run_sync(
                lambda: program("people", "add", "ana", "--identity", "ntfy:topic")
            )
            asking = asyncio.create_task(
                anyio.to_thread.run_sync(
                    lambda: program("ask", "Which cache?", "-o", "Redis", "-o", "Memcached")
                )
            )
            message = await service.arrived()
            ref = message["title"].split()[-1]
            await anyio.to_thread.run_sync(lambda: program("answer", ref, "Redis"))
            assert (await asking).stdout == "Redis\n"
            late = message["actions"][1]
            posted = await phone.post(late["url"], data=late["body"], headers=late["headers"])
            assert posted.status == 409
            assert "Redis" in await posted.text()
        finally:
            await anyio.to_thread.run_sync(lambda: program("down"))
