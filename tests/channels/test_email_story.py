"""From settings to an answered question by mail: a real daemon, the real commands, and a real mailbox."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tests.channels.mail_server import PASSWORD, Dovecot
from tests.channels.page_steps import Reader
from tests.channels.post_office import PostOffice, opened
from tests.cli.conftest import Done, Program
from tests.plain_http import plain_client
from tests.web.visitor import forms

SETTINGS = """
[channels.mail]
kind = "email"
address = "{own}"
username = "{username}"
password = "$MAIL_PASSWORD"
smtp_host = "127.0.0.1"
smtp_port = {smtp}
smtp_security = "none"
imap_host = "127.0.0.1"
imap_port = {imap}
imap_security = "none"

[[routes]]
to = ["mail:ana@example.test"]
"""


class Office:
    """The program beside a post office that lives in this process."""

    def __init__(self, post: PostOffice, folder: Path) -> None:
        self.post = post
        self.program = Program(folder / "home")
        self.program.environment |= {"MAIL_PASSWORD": PASSWORD}
        self.program.home.mkdir(mode=0o700)
        settings = SETTINGS.format(
            own=post.own, username=post.own.partition("@")[0], smtp=post.port, imap=post.dovecot.imap
        )
        (self.program.home / "upcall.toml").write_text(settings)

    async def __call__(self, *words: str) -> Done:
        return await anyio.to_thread.run_sync(lambda: self.program(*words))


@pytest.fixture
async def office(dovecot: Dovecot, tmp_path: Path) -> AsyncIterator[Office]:
    # The server asks for no password where nothing is encrypted, but takes one.
    async with opened(dovecot, lenient=True) as post:
        office = Office(post, tmp_path)
        yield office
        await office("down")


async def test_a_person_who_was_added_in_capital_letters_may_answer(office: Office) -> None:
    post = office.post
    added = await office("people", "add", "ana", "--identity", "mail:Ana@Example.TEST")
    assert added.returncode == 0
    asked: list[Done] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            asked.append(await office("ask", "Deploy where?", "-o", "staging", "-o", "production"))

        tasks.start_soon(ask)
        await post.until(lambda: len(post.messages()) == 1)
        await post.reply("Ana@example.TEST", post.messages()[0].name, "2")
    assert asked[0].stdout == "production\n"


@pytest.mark.promise("spec/82", "spec/136")
async def test_a_person_joins_answers_by_reply_and_then_behind_a_link(office: Office) -> None:
    post = office.post
    code = (await office("people", "add", "ana")).stdout.strip()
    await post.write(post.known, code)
    await post.until(lambda: post.told(post.known) == ["Welcome, ana. You can answer here from now on."])

    asked: list[Done] = []
    async with anyio.create_task_group() as tasks:

        async def ask() -> None:
            asked.append(await office("ask", "Deploy where?", "-o", "staging", "-o", "production"))

        tasks.start_soon(ask)
        await post.until(lambda: len(post.messages()) == 1)
        await post.reply(post.known, post.messages()[0].name, "2")
    assert (asked[0].returncode, asked[0].stdout) == (0, "production\n")
    await post.until(lambda: "✓ Answered: production — by ana" in post.messages()[0].text)

    async with anyio.create_task_group() as tasks:

        async def ask_again() -> None:
            asked.append(await office("ask", "And when?", "-o", "now", "-o", "later"))

        tasks.start_soon(ask_again)
        await post.until(lambda: len(post.messages()) == 2)
        found = re.search(r"http://\S+/a/\S+", post.messages()[1].text)
        assert found is not None
        async with plain_client(trust_env=False) as browser:
            (form,) = forms((await browser.get(found[0])).text)
            sent = [*form.fields, ("q0", "0")]
            answered = await browser.post(found[0], data=dict(sent), headers={"Origin": "null"})
        assert answered.status_code == 200
    assert (asked[1].returncode, asked[1].stdout) == (0, "now\n")
    done = json.loads((await office("status", "--json")).stdout)["done"]
    assert {(each["answer"]["by"], each["answer"]["via"]) for each in done} == {("ana", "mail")}


@pytest.mark.promise("doorway/24", "doorway/36")
async def test_the_steps_of_the_page_lead_to_a_letter_with_a_question(office: Office) -> None:
    post, settings = office.post, office.program.home / "upcall.toml"
    settings.unlink()
    (office.program.home / "upcall.env").write_text(f"UPCALL_MAIL_PASSWORD={PASSWORD}\n")
    (office.program.home / "upcall.env").chmod(0o600)
    username = post.own.partition("@")[0]
    instead = {
        "upcall@example.org": post.own,
        'smtp_host = "smtp.example.org"': f'smtp_host = "127.0.0.1"\nsmtp_port = {post.port}\nsmtp_security = "none"',
        'imap_host = "imap.example.org"': f'imap_host = "127.0.0.1"\nimap_port = {post.dovecot.imap}\n'
        f'imap_security = "none"\nusername = "{username}"',
        "mail:ana@example.org": "mail:ana@example.test",
    }
    name = "tests/channels/test_email_story.py::test_the_steps_of_the_page_lead_to_a_letter_with_a_question"
    reader = Reader(office.program, name, instead, {})
    await reader.follow("channel-email.md")
    assert reader.shown == ["mail"]
    await post.until(lambda: len(post.messages()) == 1)
