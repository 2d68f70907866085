"""What cannot be read as an answer decides nothing, and the person is told so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.channels.fake_discord import FakeDiscord
from tests.channels.fake_slack import CallingSlack, FakeSlack
from tests.channels.fake_telegram import FakeTelegram
from tests.channels.fake_whatsapp import FakeWhatsApp
from tests.channels.matrix_house import MatrixHouse
from upcall.channels.words import sentences
from upcall.testing.channel_house import a_house

NOT_UNDERSTOOD = sentences("en")["not_understood"]
Place = FakeDiscord | FakeSlack | FakeTelegram | FakeWhatsApp | MatrixHouse
MADE = (FakeSlack, CallingSlack, FakeDiscord, FakeTelegram, FakeWhatsApp)


@pytest.fixture(params=[*MADE, MatrixHouse], ids=lambda kind: str(kind.__name__))
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    if request.param is MatrixHouse:
        async with MatrixHouse(request.getfixturevalue("synapse")).served() as house:
            yield house
        return
    async with request.param().served() as made:
        yield made


@pytest.mark.promise("trust/60")
async def test_a_voice_note_and_a_thumb_on_an_approval_decide_nothing_and_are_told_so(
    place: Place, tmp_path: Path
) -> None:
    def told() -> int:
        return list(place.told(place.known)).count(NOT_UNDERSTOOD)

    async with a_house(place, tmp_path) as house:
        inquiry = await house.ask(kind="approval", question="Deploy?")
        await place.until(lambda: len(place.messages()) == 1)
        message = place.messages()[0].name
        await place.react(place.stranger, message, "👍")
        await place.react(place.known, message, "👍")
        await place.until(lambda: told() == 1)
        await place.speak(place.known, message)
        await place.until(lambda: told() == 2)
        assert (await house.broker.store.get(inquiry.id)).is_open
        assert list(place.told(place.stranger)) == []
        await place.answer(place.known, message, [["Approve"]])
        assert await house.answers(inquiry) == [["Approve"]]
        # Once it is over, or where nothing is decided by a yes, a reaction is a remark.
        await place.react(place.known, message, "🎉")
        open_one = await house.ask(question="Which?", options=["a", "b"])
        await place.until(lambda: len(place.messages()) == 2)
        await place.react(place.known, place.messages()[1].name, "👀")
        await place.answer(place.known, place.messages()[1].name, [["a"]])
        assert await house.answers(open_one) == [["a"]]
        assert told() == 2
