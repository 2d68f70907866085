"""Matrix, through matrix-nio, on a real homeserver."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from typing_extensions import override

from tests.channels.matrix_house import MatrixHouse
from tests.channels.page_steps import Reader
from tests.channels.synapse import PASSWORD, Synapse
from tests.cli.conftest import Program
from tests.docs.fences import fences
from tests.docs.pages import ROOT
from tests.domain.test_degrading import an_inquiry
from upcall.broker.broker import Reply
from upcall.channels.matrix import api as matrix_api
from upcall.channels.matrix.channel import Matrix
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import view
from upcall.domain.channel.showing import Reference
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry.inquiry import Answered
from upcall.ports.channel import Refused, Unavailable
from upcall.testing.channel_contract import ChannelContract
from upcall.testing.channel_house import NAME, WEB, a_house

pytestmark = pytest.mark.promise("spec/81")
WORDS = sentences("en")


class TestMatrix(ChannelContract):
    @pytest.fixture
    @override
    async def vendor(self, synapse: Synapse) -> AsyncIterator[MatrixHouse]:
        async with MatrixHouse(synapse).served() as house:
            yield house


@pytest.fixture
async def matrix(synapse: Synapse) -> AsyncIterator[MatrixHouse]:
    async with MatrixHouse(synapse).served() as house:
        yield house


async def test_a_rate_limit_is_waited_for_and_nothing_is_there_twice(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    async with a_house(matrix, tmp_path) as house:
        # The third attempt gets the message through.
        matrix.be_busy(2)
        inquiry = await house.ask(question="First?", options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
        matrix.be_busy(2)
        await house.ask(question="Second?", options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 2)
        first, second = matrix.messages()
        assert ("First?" in first.text, "Second?" in second.text) == (True, True)
        await matrix.answer(matrix.known, first.name, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]


@pytest.mark.promise("trust/58")
async def test_five_questions_are_shown_and_closed_within_the_limits_that_a_homeserver_has_by_default(
    limited_synapse: Synapse, tmp_path: Path
) -> None:
    async with MatrixHouse(limited_synapse).served() as matrix, a_house(matrix, tmp_path) as house:
        asked = [
            await house.ask(question=f"Question {number}?", options=["a", "b", "c", "d", "e", "f"])
            for number in range(5)
        ]
        await matrix.until(lambda: len(matrix.messages()) == 5)
        for inquiry in asked:
            await house.broker.receive(inquiry.id, Reply(text="2", via="web"), WEB)
        await matrix.until(lambda: not any(message.answerable for message in matrix.messages()))
        assert matrix.sent() == ["m.room.message"] * 10
        # Ten are taken at once, of which joining the room was one.
        assert matrix.limited <= 1


@pytest.mark.promise("trust/58")
async def test_a_question_takes_four_events_at_most_and_no_redactions(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    async with a_house(matrix, tmp_path) as house:
        inquiry = await house.ask(kind="approval", question="Deploy?")
        await matrix.until(lambda: len(matrix.messages()) == 1)
        await matrix.answer(matrix.known, matrix.messages()[0].name, [["Approve"]])
        assert await house.answers(inquiry) == [["Approve"]]
        await matrix.until(lambda: not matrix.messages()[0].answerable)
        assert matrix.sent() == ["m.room.message", "m.reaction", "m.reaction", "m.room.message"]
        # A reaction that is still there says how it ended.
        await matrix.react(matrix.known, matrix.messages()[0].name, "❌")
        await matrix.until(lambda: any("Approve — by" in line for line in matrix.told(matrix.known)))


@pytest.mark.promise("trust/58")
async def test_a_question_is_shown_though_its_reactions_are_too_much_for_the_homeserver(
    matrix: MatrixHouse,
) -> None:
    channel = matrix.channel()
    matrix.refuse_reactions = True
    shown = await channel.show(view(an_inquiry(kind="approval"), channel.capabilities, WORDS), matrix.place)
    await channel.close()
    assert matrix.sent() == ["m.room.message", "m.reaction"]
    await matrix.until(lambda: [message.name for message in matrix.messages()] == [shown.message])


async def test_what_is_shown_again_after_a_crash_is_the_same_message(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    async with a_house(matrix, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
    channel = matrix.channel()
    try:
        shown = view(inquiry, channel.capabilities, WORDS)
        again = await channel.show(shown, matrix.place)
    finally:
        await channel.close()
    assert again.message == matrix.messages()[0].name


async def test_a_thread_a_reminder_and_words_of_others_are_told_apart(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    async with a_house(matrix, tmp_path) as house:
        first = await house.ask(question="First?", options=["Redis", "Memcached"])
        second = await house.ask(question="Second?", options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 2)
        asked = [message.name for message in matrix.messages()]
        events = [name.partition("/")[2] for name in asked]
        lunch = await matrix.send(matrix.stranger, "m.room.message", {"msgtype": "m.text", "body": "lunch?"})
        await matrix.react(matrix.known, f"{matrix.place}/{lunch}", "1️⃣")
        await matrix.react(matrix.known, asked[0], "🎉")
        relation = {
            "rel_type": "m.thread",
            "event_id": events[0],
            "is_falling_back": True,
            "m.in_reply_to": {"event_id": lunch},
        }
        words = {"msgtype": "m.text", "body": "2", "m.relates_to": relation}
        await matrix.send(matrix.known, "m.room.message", words)
        assert await house.answers(first) == [["Memcached"]]

        channel = matrix.channel()
        await channel.tell(Reference(place=matrix.place, message=asked[1]), "Still waiting")
        await channel.close()
        await matrix.until(lambda: "Still waiting" in matrix.said())
        await matrix.reply(matrix.known, matrix.named("Still waiting"), "> quoted\n\nmemcached")
        assert await house.answers(second) == [["Memcached"]]
        assert list(matrix.told(matrix.known)) == []
        assert list(matrix.told(matrix.stranger)) == []


async def test_a_person_who_shares_the_account_can_answer(matrix: MatrixHouse, tmp_path: Path) -> None:
    async with a_house(matrix, tmp_path) as house:
        await house.people.add("owner", [(NAME, matrix.bot)])
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
        await matrix.reply(matrix.bot, matrix.messages()[0].name, "redis")
        settled = (await house.settled(inquiry)).state
        assert isinstance(settled, Answered)
        assert settled.closing.by == "owner"


async def test_nothing_that_was_said_while_no_daemon_listened_is_missed(
    matrix: MatrixHouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_api, "PAGE", 2)
    async with a_house(matrix, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
        question = matrix.messages()[0].name
    await matrix.reply(matrix.known, question, "memcached")
    for number in range(5):
        talk = {"msgtype": "m.text", "body": f"talk {number}"}
        await matrix.send(matrix.stranger, "m.room.message", talk)
    async with a_house(matrix, tmp_path) as house:
        assert await house.answers(inquiry) == [["Memcached"]]


async def test_only_known_people_can_invite_it_and_are_understood_alone_with_it(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    async def joined(room: str) -> bool:
        found = await matrix.call(matrix.bot, "GET", "/joined_rooms")
        return room in found["joined_rooms"]

    async with a_house(matrix, tmp_path) as house:
        theirs = await matrix.room(matrix.stranger, matrix.bot, joined=False)
        ours = await matrix.room(matrix.known, matrix.bot, joined=False)
        await matrix.until(lambda: any(call.endswith(f"/join/{ours}") for call in matrix.calls))
        assert not await joined(theirs)
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
        words = {"msgtype": "m.text", "body": f"{inquiry.ref} memcached"}
        await matrix.send(matrix.known, "m.room.message", words, ours)
        assert await house.answers(inquiry) == [["Memcached"]]

        # A person who becomes known later need not repeat the invitation.
        await house.people.add("bo", [(NAME, matrix.stranger)])
        await matrix.send(matrix.known, "m.room.message", {"msgtype": "m.text", "body": "hello"})
        await matrix.until(lambda: any(call.endswith(f"/join/{theirs}") for call in matrix.calls))


async def test_nothing_is_posted_in_an_encrypted_room_and_a_person_who_writes_there_is_told(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    secret = [
        {
            "type": "m.room.encryption",
            "state_key": "",
            "content": {"algorithm": "m.megolm.v1.aes-sha2"},
        }
    ]
    async with a_house(matrix, tmp_path) as house:
        room = await matrix.room(matrix.known, matrix.bot, initial_state=secret)
        inquiry = await house.ask(options=["Redis", "Memcached"])
        channel = matrix.channel()
        with pytest.raises(Refused, match="encrypted"):
            await channel.show(view(inquiry, channel.capabilities, WORDS), room)
        await channel.close()
        await matrix.send(matrix.known, "m.room.encrypted", {"algorithm": "m.megolm.v1.aes-sha2"}, room)
        await matrix.until(lambda: WORDS["encrypted"] in matrix.told(matrix.known))


async def test_events_of_no_sense_stop_nothing(matrix: MatrixHouse, tmp_path: Path) -> None:
    async with a_house(matrix, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await matrix.until(lambda: len(matrix.messages()) == 1)
        message = matrix.messages()[0].name
        event = message.partition("/")[2]
        for content in (
            {"msgtype": "x", "body": "x"},
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"m.in_reply_to": "x"}},
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"m.in_reply_to": {"event_id": "$nowhere"}}},
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"m.in_reply_to": {"event_id": "no event"}}},
            {
                "msgtype": "m.text",
                "body": "x",
                "m.relates_to": {"m.in_reply_to": {"event_id": "$" + "x" * 999}},
            },
            {"msgtype": "m.text", "body": "x", "m.relates_to": {"m.in_reply_to": {"event_id": "$\x00/.."}}},
            {"msgtype": "m.text", "body": "2", "m.relates_to": {"rel_type": "m.replace", "event_id": event}},
            {"msgtype": "m.notice", "body": "2", "m.relates_to": {"m.in_reply_to": {"event_id": event}}},
        ):
            await matrix.send(matrix.known, "m.room.message", content)
        await matrix.answer(matrix.known, message, [["Redis"]])
        assert await house.answers(inquiry) == [["Redis"]]


async def test_a_room_can_be_given_by_its_address(matrix: MatrixHouse, tmp_path: Path) -> None:
    alias = f"ops{matrix.known[4:].partition(':')[0]}"
    room = await matrix.room(matrix.known, matrix.bot, room_alias_name=alias)
    async with a_house(matrix, tmp_path) as house:
        inquiry = await house.ask(options=["Redis", "Memcached"])
        channel = matrix.channel()
        shown = view(inquiry, channel.capabilities, WORDS)
        sent = await channel.show(shown, f"#{alias}:localhost")
        assert sent.message.startswith(f"{room}/$")
        for wrong in ("#nowhere:localhost", "ops", matrix.known):
            with pytest.raises(Refused, match="use the room's id"):
                await channel.show(shown, wrong)
        await channel.close()


async def test_a_wrong_token_is_found_by_a_check(matrix: MatrixHouse) -> None:
    wrong = Matrix(homeserver=matrix.url, access_token="syt_wrong")
    (finding,) = await wrong.check()
    await wrong.close()
    assert (finding.ok, finding.text) == (False, "access_token: Matrix says M_UNKNOWN_TOKEN")
    assert finding.hint.startswith("access_token is not good any more")


async def test_a_vendor_that_cannot_be_reached_is_unavailable_and_not_refused() -> None:
    nowhere = Matrix(homeserver="http://127.0.0.1:9", access_token="syt_1")
    async with asyncio.timeout(10):
        with pytest.raises(Unavailable):
            await nowhere.tell(Reference(place="!a:b", message="!a:b/$c"), "hello")
    await nowhere.close()


@pytest.mark.parametrize("address", ["http://matrix.example.org", "matrix.example.org", "ftp://localhost"])
def test_a_token_is_not_sent_in_the_clear(address: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Matrix(homeserver=address, access_token="syt_1")
    assert "https://" in str(caught.value.hint)


@pytest.mark.promise("trust/52")
async def test_a_person_is_told_although_the_homeserver_was_busy(matrix: MatrixHouse, tmp_path: Path) -> None:
    async with a_house(matrix, tmp_path):
        matrix.be_busy(5)
        await matrix.write(matrix.stranger, "hello")
        await matrix.until(lambda: bool(matrix.told(matrix.stranger)))


def signed_in(matrix: MatrixHouse) -> str:
    """The token that the command of the page prints."""
    page = fences([ROOT / "docs/channel-matrix.md"])
    (command,) = [fence.content for fence in page if "login" in fence.content]
    user = matrix.bot[1:].partition(":")[0]
    for shown, real in (
        ("https://matrix.example.org", matrix.url),
        ('"upcall"', f'"{user}"'),
        ('"…"', f'"{PASSWORD}"'),
    ):
        assert shown in command
        command = command.replace(shown, real)
    done = subprocess.run(["bash", "-c", command], check=True, capture_output=True, text=True, timeout=60)
    token: str = json.loads(done.stdout)["access_token"]
    return token


@pytest.mark.promise("doorway/24")
async def test_the_command_of_the_page_signs_in_for_a_token(matrix: MatrixHouse, synapse: Synapse) -> None:
    token = await anyio.to_thread.run_sync(signed_in, matrix)
    assert token.startswith("syt_")
    assert synapse.call("GET", "/_matrix/client/v3/account/whoami", token=token)["user_id"] == matrix.bot


@pytest.mark.promise("doorway/24", "doorway/36")
async def test_the_steps_of_the_page_lead_to_a_question_in_the_room(
    matrix: MatrixHouse, tmp_path: Path
) -> None:
    program = Program(tmp_path / "home")
    program.home.mkdir(mode=0o700)
    token = await anyio.to_thread.run_sync(signed_in, matrix)
    (program.home / "upcall.env").write_text(f"MATRIX_TOKEN={token}\n")
    (program.home / "upcall.env").chmod(0o600)
    instead = {"https://matrix.example.org": matrix.url, "!abcdefghij:example.org": matrix.place}
    name = "tests/channels/test_matrix.py::test_the_steps_of_the_page_lead_to_a_question_in_the_room"
    reader = Reader(program, name, instead, {})
    try:
        await reader.follow("channel-matrix.md")
        await matrix.until(lambda: len(matrix.messages()) == 1)
    finally:
        await anyio.to_thread.run_sync(lambda: program("down"))
    assert reader.shown == ["matrix"]
