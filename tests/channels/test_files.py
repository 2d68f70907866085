"""Pictures and files that people send with an answer in a channel: the same rules as in the inbox."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.fake_discord import FakeDiscord
from tests.channels.fake_slack import CallingSlack, FakeSlack
from tests.channels.fake_telegram import FakeTelegram
from tests.channels.fake_whatsapp import FakeWhatsApp
from tests.channels.mail_server import Dovecot
from tests.channels.post_office import PostOffice, opened
from upcall.channels.slack.app import FILES_SCOPE
from upcall.channels.slack.channel import Slack
from upcall.channels.words import sentences
from upcall.domain.answer.files import LARGEST_FILE
from upcall.domain.channel.showing import SentFile
from upcall.domain.inquiry.inquiry import Answer, Answered, Inquiry
from upcall.ports.channel import Refused
from upcall.testing.channel_house import House, a_house

WORDS = sentences("en")
PNG = b"\x89PNG\r\n\x1a\n"
Place = FakeSlack | FakeTelegram | PostOffice
MADE = (FakeSlack, CallingSlack, FakeTelegram)


@pytest.fixture(params=[*MADE, PostOffice], ids=lambda kind: str(kind.__name__))
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    if request.param is PostOffice:
        dovecot: Dovecot = request.getfixturevalue("dovecot")
        async with opened(dovecot) as office:
            yield office
        return
    async with request.param().served() as made:
        yield made


async def shown(
    place: Place | FakeDiscord | FakeWhatsApp, house: House, **fields: object
) -> tuple[Inquiry, str]:
    """A question that is shown, and the name of its message."""
    count = len(place.messages())
    inquiry = await house.ask(**fields)
    await place.until(lambda: len(place.messages()) > count)
    return inquiry, place.messages()[-1].name


async def answer_to(house: House, inquiry: Inquiry) -> Answer:
    state = (await house.settled(inquiry)).state
    assert isinstance(state, Answered)
    return state.answer


def refused(name: str, why: str) -> str:
    reason = WORDS[f"file.{why}"].format(most=4, mebibytes=5)
    return WORDS["file.refused"].format(name=name, why=reason)


@pytest.mark.promise("desk/24")
@pytest.mark.promise("desk/45")
async def test_pictures_and_files_in_a_reply_belong_to_the_answer(place: Place, tmp_path: Path) -> None:
    files = {"photo.jpg": b"\xff\xd8\xff" + bytes(400_000), "über das.log": b"the first line\n" * 20_000}
    async with a_house(place, tmp_path) as house:
        inquiry, message = await shown(place, house, question="What is wrong?")
        await place.send_files(place.known, message, "this here", files)
        answer = await answer_to(house, inquiry)
        assert answer.values == (("this here",),)
        assert [(file.name, file.media_type) for file in answer.files] == [
            ("photo.jpg", "image/jpeg"),
            ("über das.log", "text/plain"),
        ]
        kept = [await house.broker.files.content(await house.settled(inquiry), at) for at in range(2)]
        assert kept == list(files.values())
        # A picture may say it all.
        alone, message = await shown(place, house, question="Which one?")
        await place.send_files(place.known, message, "", {"photo.jpg": b"\xff\xd8\xff"})
        assert (await answer_to(house, alone)).values == (("photo.jpg",),)


@pytest.mark.promise("desk/45")
async def test_a_file_that_is_refused_is_told_and_the_words_still_count(place: Place, tmp_path: Path) -> None:
    files = {
        "drawing.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "page.txt": b"<!doctype html><script>1</script>",
        "huge.png": PNG + bytes(LARGEST_FILE),
        **{f"{number}.png": PNG + bytes([number]) for number in range(5)},
    }
    async with a_house(place, tmp_path) as house:
        inquiry, message = await shown(place, house, question="Which?", options=["a", "b"])
        await place.send_files(place.known, message, "2", files)
        answer = await answer_to(house, inquiry)
        assert answer.values == (("b",),)
        assert [file.name for file in answer.files] == ["0.png", "1.png", "2.png", "3.png"]
        await place.until(lambda: bool(place.told(place.known)))
        (told,) = place.told(place.known)
        assert told.splitlines() == [
            refused("drawing.svg", "type"),
            refused("page.txt", "type"),
            refused("huge.png", "large"),
            refused("4.png", "many"),
        ]


@pytest.mark.promise("desk/45")
async def test_without_words_a_refused_file_decides_nothing_and_no_stranger_makes_us_fetch_one(
    place: Place, tmp_path: Path
) -> None:
    async with a_house(place, tmp_path) as house:
        inquiry, message = await shown(place, house, question="Which?")
        await place.send_files(place.known, message, "", {"run.exe": b"MZ\0\0"})
        await place.until(lambda: list(place.told(place.known)) == [refused("run.exe", "type")])
        if isinstance(place, FakeSlack):
            fetched = list(place.fetched)
            await place.send_files(place.stranger, message, "hello", {"photo.jpg": b"\xff\xd8\xff"})
            await place.until(lambda: bool(place.told(place.stranger)))
            assert place.fetched == fetched
        assert (await house.broker.store.get(inquiry.id)).is_open
        # A file beside a decision stands with it; alone it decides nothing.
        approval, message = await shown(place, house, kind="approval", question="Deploy?")
        await place.send_files(place.known, message, "", {"photo.jpg": b"\xff\xd8\xff"})
        await place.until(lambda: len(place.told(place.known)) == 2)
        await place.send_files(place.known, message, "no", {"photo.jpg": b"\xff\xd8\xff"})
        answer = await answer_to(house, approval)
        assert (answer.values, len(answer.files)) == ((("Deny",),), 1)


@pytest.mark.promise("desk/45")
async def test_without_the_scope_slack_gives_no_file_and_the_check_says_so(tmp_path: Path) -> None:
    async with FakeSlack().served() as slack:
        slack.scopes = [scope for scope in slack.scopes if scope != FILES_SCOPE]
        async with a_house(slack, tmp_path) as house:
            inquiry, message = await shown(slack, house, question="Which?")
            await slack.send_files(slack.known, message, "this one", {"photo.jpg": b"\xff\xd8\xff"})
            answer = await answer_to(house, inquiry)
            assert (answer.values, answer.files) == ((("this one",),), ())
            await slack.until(lambda: list(slack.told(slack.known)) == [refused("photo.jpg", "unreachable")])
        channel = slack.channel()
        assert any(FILES_SCOPE in finding.text and finding.ok for finding in await channel.check())


@pytest.mark.parametrize(
    "address",
    [
        "http://files.slack.com/x",
        "https://files.slack.com.evil.example/x",
        "https://evil.example/files.slack.com",
        "https://[slack.com/x",
        "file:///etc/passwd",
    ],
)
async def test_the_token_of_the_bot_goes_to_slack_alone(address: str) -> None:
    with pytest.raises(Refused, match="not at Slack"):
        await Slack(bot_token="xoxb-1").fetch(SentFile(name="x", at=address), 1)


@pytest.mark.promise("desk/45")
@pytest.mark.parametrize("kind", [FakeDiscord, FakeWhatsApp])
async def test_where_no_files_are_taken_the_words_count_and_the_person_is_told(
    kind: type[FakeDiscord] | type[FakeWhatsApp], tmp_path: Path
) -> None:
    async with kind().served() as place, a_house(place, tmp_path) as house:
        inquiry, message = await shown(place, house, question="Which?")
        await place.send_picture(place.known, message, "this one")
        assert await house.answers(inquiry) == [["this one"]]
        await place.until(lambda: refused("image", "here") in place.told(place.known))
