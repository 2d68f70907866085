"""A button of a push message answers: from a real daemon to ntfy and back, over real sockets."""

import asyncio
import socket
from pathlib import Path

import anyio
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
