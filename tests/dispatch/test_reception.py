"""What words mean that name no message: the only question that is open there, or a question back."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.dispatch.test_dispatch import ONE, Hall, a_hall
from upcall.channels.words import sentences
from upcall.dispatch.people import People
from upcall.domain.inquiry import Answered, Inquiry
from upcall.domain.routing import Route
from upcall.domain.showing import Capabilities, Heard, Inbound

WORDS_ONLY = Capabilities()


class Desk:
    """One person who writes to a channel that has nothing to press."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self._count = 0

    async def write(self, words: str, *, place: str = "C1", user: str = "U1") -> Heard:
        self._count += 1
        inbox = self.hall.one.inbox
        assert inbox is not None
        return await inbox.receive(Inbound(id=str(self._count), user=user, place=place, words=words))

    async def ask(self, question: str) -> Inquiry:
        shown = len(self.hall.one.shown)
        inquiry = await self.hall.ask(question)
        await self.hall.one.until(lambda: len(self.hall.one.shown) > shown)
        return inquiry

    async def answer_of(self, inquiry: Inquiry) -> str | None:
        state = (await self.hall.broker.store.get(inquiry.id)).state
        return state.answer.values[0][0] if isinstance(state, Answered) else None


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(ScriptedChannel, "capabilities", WORDS_ONLY)
    async with a_hall(tmp_path, Route(places=(ONE,))) as hall:
        await People(hall.broker.store, hall.broker.now).add("ana", [("one", "U1")])
        await hall.one.until(lambda: hall.one.inbox is not None)
        yield Desk(hall)


@pytest.mark.promise("pynchy/41")
async def test_bare_words_answer_the_only_question_that_is_open_there(desk: Desk) -> None:
    inquiry = await desk.ask("Which cache?")
    assert (await desk.write("2")).accepted
    assert await desk.answer_of(inquiry) == "Memcached"


async def test_with_several_open_the_person_is_asked_which_one(desk: Desk) -> None:
    first, second = await desk.ask("Which cache?"), await desk.ask("Which queue?")
    heard = await desk.write("2")
    assert not heard.accepted
    assert f"{first.ref}: Which cache?\n{second.ref}: Which queue?" in heard.line
    assert (await desk.write(f"{second.ref} 2")).accepted
    assert [await desk.answer_of(first), await desk.answer_of(second)] == [None, "Memcached"]
    assert (await desk.write("1")).accepted
    assert await desk.answer_of(first) == "Redis"


@pytest.mark.promise("spec/54")
async def test_a_closed_question_swallows_no_message(desk: Desk) -> None:
    inquiry = await desk.ask("Which cache?")
    await desk.hall.answer(inquiry)
    heard = await desk.write("2")
    assert (heard.accepted, heard.line) == (False, sentences("en")["no_question"])


async def test_words_in_another_place_mean_nothing_here(desk: Desk) -> None:
    inquiry = await desk.ask("Which cache?")
    assert not (await desk.write("2", place="C9")).accepted
    assert await desk.answer_of(inquiry) is None


@pytest.mark.promise("pynchy/40", "spec/51")
async def test_the_number_of_other_asks_for_the_words_and_they_are_the_answer(desk: Desk) -> None:
    inquiry = await desk.ask("Which cache?")
    (view,) = desk.hall.one.shown.values()
    assert [choice.full for choice in view.questions[0].choices][-1] == sentences("en")["other"]
    heard = await desk.write("3.")
    assert (heard.accepted, heard.line) == (False, sentences("en")["other.text"])
    assert await desk.answer_of(inquiry) is None
    assert (await desk.write("a file")).accepted
    assert await desk.answer_of(inquiry) == "a file"
