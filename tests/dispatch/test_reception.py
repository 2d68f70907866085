"""What words mean that name no message: the only question that is open there, or a question back."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.dispatch.scripted_channel import ScriptedChannel
from tests.dispatch.test_dispatch import ONE, Hall, a_hall
from upcall.channels.words import sentences
from upcall.dispatch.people import People
from upcall.domain.channel.delivery import KIND, WAITING, delivery_in, key
from upcall.domain.channel.routing import Route
from upcall.domain.channel.showing import Capabilities, Given, Heard, Inbound
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin
from upcall.domain.records import Effects, Record
from upcall.testing.channel_house import WEB

WORDS_ONLY = Capabilities()


class Desk:
    """One person who writes to a channel that has nothing to press."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self._count = self._log = 0

    async def write(
        self, words: str, *, place: str = "C1", user: str = "U1", at: float | None = None
    ) -> Heard:
        self._count += 1
        return await self.deliver(Inbound(id=str(self._count), user=user, place=place, words=words, at=at))

    async def deliver(self, inbound: Inbound) -> Heard:
        inbox = self.hall.one.inbox
        assert inbox is not None
        return await inbox.receive(inbound)

    async def ask(self, question: str) -> Inquiry:
        shown = len(self.hall.one.shown)
        inquiry = await self.hall.ask(question)
        await self.hall.one.until(lambda: len(self.hall.one.shown) > shown)
        return inquiry

    async def ask_leave(self, question: str) -> Inquiry:
        shown = len(self.hall.one.shown)
        asked = draft({"kind": "approval", "question": question})
        added = await self.hall.broker.ask(asked, Origin(agent="bot", session="s", door="test"))
        await self.hall.one.until(lambda: len(self.hall.one.shown) > shown)
        return added.inquiry

    async def shown_at(self, inquiry: Inquiry) -> float:
        """Since when the latest one is shown, once that is on record."""
        self._log = await self.hall.said("shown", self._log)
        kept = await self.hall.broker.store.look_up(KIND, key(inquiry.id, ONE))
        assert kept is not None
        shown_at = delivery_in(kept).shown_at
        assert shown_at is not None
        return shown_at

    async def is_open(self, inquiry: Inquiry) -> bool:
        return (await self.hall.broker.store.get(inquiry.id)).is_open

    async def answer_of(self, inquiry: Inquiry) -> str | None:
        state = (await self.hall.broker.store.get(inquiry.id)).state
        return state.answer.values[0][0] if isinstance(state, Answered) else None

    @property
    def people(self) -> People:
        return People(self.hall.broker.store, self.hall.broker.now)


@asynccontextmanager
async def a_desk(folder: Path, language: str = "en") -> AsyncIterator[Desk]:
    async with a_hall(folder, Route(places=(ONE,)), language=language) as hall:
        desk = Desk(hall)
        await desk.people.add("ana", [("one", "U1")])
        await hall.one.until(lambda: hall.one.inbox is not None)
        yield desk


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Desk]:
    monkeypatch.setattr(ScriptedChannel, "capabilities", WORDS_ONLY)
    async with a_desk(tmp_path) as desk:
        yield desk


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


BARE = Inbound(id="event:1", user="U1", place="C1", words="2")


async def test_words_that_come_again_after_a_restart_answer_no_other_question(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        first = await desk.ask("Which cache?")
        assert (await desk.deliver(BARE)).accepted
        assert await desk.answer_of(first) == "Memcached"
    async with a_desk(tmp_path) as desk:
        second = await desk.ask("Which queue?")
        assert await desk.deliver(BARE) == Heard(line="", accepted=True)
        assert await desk.answer_of(second) is None
        await desk.ask("Which disk?")
    async with a_desk(tmp_path) as desk:
        assert await desk.deliver(BARE) == Heard(line="", accepted=True), (
            "and no person is asked which one they mean"
        )


async def test_a_ref_that_comes_again_answers_nobody_who_has_it_next(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        first = await desk.ask("Which cache?")
        named = Inbound(id="event:2", user="U1", place="C9", words=f"{first.ref} 2")
        assert (await desk.deliver(named)).accepted
        second = await desk.ask("Which queue?")
    async with a_desk(tmp_path) as desk:
        assert await desk.deliver(named) == Heard(line="", accepted=True)
        assert await desk.answer_of(second) is None


async def test_words_that_answered_nothing_answer_nothing_when_they_come_again(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        assert not (await desk.deliver(BARE)).accepted
    async with a_desk(tmp_path) as desk:
        inquiry = await desk.ask("Which cache?")
        assert await desk.deliver(BARE) == Heard(line="", accepted=False)
        assert await desk.answer_of(inquiry) is None


async def test_a_code_that_comes_again_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        joining = Inbound(id="event:3", user="U2", place="C1", words=await desk.people.add("bo"))
        assert (await desk.deliver(joining)).accepted
    async with a_desk(tmp_path) as desk:
        inquiry = await desk.ask("Which cache?")
        assert await desk.deliver(joining) == Heard(line="", accepted=True)
        assert await desk.answer_of(inquiry) is None


@pytest.mark.parametrize("word", ["production", "PostgreSQL", "kubernetes", "0123456789"])
async def test_a_word_of_ten_letters_is_an_answer_of_somebody_who_is_known(desk: Desk, word: str) -> None:
    for _ in range(6):
        inquiry = await desk.ask("Which one?")
        assert (await desk.write(word)).accepted
        assert await desk.answer_of(inquiry) == word


async def test_a_stranger_whose_word_can_be_no_code_has_guessed_nothing(desk: Desk) -> None:
    for _ in range(6):
        assert (await desk.write("production", user="U2")).line == sentences("en")["unknown_person"]
    assert (await desk.write(await desk.people.add("bo"), user="U2")).accepted


async def test_somebody_who_is_known_can_take_another_name_with_a_code(desk: Desk) -> None:
    await desk.people.add("ana", [("one", "U7")])
    code = await desk.people.add("bo")
    assert (await desk.write(code.lower())).accepted
    assert await desk.people.holder("one", "U1") == "bo"
    ana, bo = await desk.people.all()
    assert (ana.identities, bo.identities) == ((("one", "U7"),), (("one", "U1"),))
    await desk.people.remove("ana")
    assert await desk.people.holder("one", "U1") == "bo"


async def test_a_form_that_was_refused_can_be_sent_again(desk: Desk) -> None:
    inquiry = await desk.ask("Which cache?")
    form = Inbound(id="form:1", user="U2", place="C1", inquiry=inquiry.id, given=(Given(picks=(0,)),))
    assert not (await desk.deliver(form)).accepted
    await desk.people.add("bo", [("one", "U2")])
    assert (await desk.deliver(form)).accepted
    assert await desk.answer_of(inquiry) == "Redis"


async def test_a_question_that_was_forgotten_is_in_nobodys_way(desk: Desk) -> None:
    store = desk.hall.broker.store
    gone = Record(kind=WAITING, key="gone:one:C1", state="one:C1", body={"inquiry": "gone"})
    await store.revise(WAITING, gone.key, lambda _: Effects(records=(gone,)))
    inquiry = await desk.ask("Which cache?")
    assert (await desk.write("1")).accepted
    assert await desk.answer_of(inquiry) == "Redis"


async def test_words_that_were_held_up_on_their_way_approve_nothing_that_was_shown_since(desk: Desk) -> None:
    first = await desk.ask_leave("run the tests")
    written = await desk.shown_at(first)
    await desk.hall.broker.reject(first.id, WEB)
    second = await desk.ask_leave("remove the database")
    assert await desk.shown_at(second) > written
    heard = await desk.write("yes", at=written)
    assert (heard.accepted, await desk.is_open(second)) == (False, True)
    asked = sentences("en")["which.one"]
    assert heard.line == asked.format(ref=second.ref, questions=f"{second.ref}: remove the database")
    assert (await desk.write(f"{second.ref} yes", at=written)).accepted, "a person who names it means it"


async def test_words_approve_what_was_shown_before_they_were_written(desk: Desk) -> None:
    inquiry = await desk.ask_leave("run the tests")
    assert (await desk.write("yes", at=await desk.shown_at(inquiry))).accepted
    assert not await desk.is_open(inquiry)


async def test_words_of_which_nobody_says_when_they_were_written_approve_nothing(desk: Desk) -> None:
    inquiry = await desk.ask_leave("run the tests")
    heard = await desk.write("yes")
    assert (heard.accepted, await desk.is_open(inquiry)) == (False, True)
    assert inquiry.ref in heard.line


@pytest.mark.parametrize(("earlier", "counts"), [(1.0, True), (60.0, False)])
async def test_words_answer_a_question_unless_they_are_clearly_older(
    desk: Desk, earlier: float, *, counts: bool
) -> None:
    inquiry = await desk.ask("Which cache?")
    heard = await desk.write("2", at=await desk.shown_at(inquiry) - earlier)
    assert heard.accepted is counts
    assert await desk.is_open(inquiry) is not counts


@pytest.mark.parametrize("language", ["de", "fr", "es", "zh-CN", "ja"])
async def test_the_words_that_a_hint_asks_for_decide_in_its_language(
    tmp_path: Path, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = sentences(language)
    monkeypatch.setattr(ScriptedChannel, "capabilities", WORDS_ONLY)
    async with a_desk(tmp_path, language=language) as desk:
        for said, verdict in (("word.yes", "Approve"), ("approve", "Approve"), ("word.no", "Deny")):
            inquiry = await desk.ask_leave(f"Deploy {said}?")
            at = await desk.shown_at(inquiry)
            assert (await desk.write(words[said].partition("|")[0].upper(), at=at + 1)).accepted
            assert await desk.answer_of(inquiry) == verdict


@pytest.mark.promise("raised/17")
async def test_a_plan_is_sent_back_by_revise_and_the_words_that_follow(tmp_path: Path) -> None:
    asked = draft({"kind": "plan", "question": "Shall it be done?", "context": "1. Install Redis"})
    async with a_desk(tmp_path, "de") as desk:
        broker, words = desk.hall.broker, sentences("de")
        now = broker.now() + 60
        first = (await broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
        await desk.hall.one.until(lambda: bool(desk.hall.one.shown))
        assert (await desk.write(words["plan.revise"], at=now)).line == words["plan.what"]
        assert await desk.is_open(first)
        assert (await desk.write("ja, aber mit SQLite", at=now)).accepted
        assert await desk.answer_of(first) == "Revise"
        second = (await broker.ask(asked, Origin(agent="bot", session="s2", door="test"))).inquiry
        await desk.hall.one.until(lambda: len(desk.hall.one.shown) > 1)
        pressed = Inbound(id="p", user="U1", place="C1", inquiry=second.id, given=(Given(picks=(1,)),))
        assert (await desk.deliver(pressed)).line == words["plan.what"]
        assert (await desk.write("Ja", at=now)).accepted
        assert await desk.answer_of(second) == "Approve"


@pytest.mark.parametrize("decision", ("yes", "1", "1.", "**approved**", "Approve and accept edits", "3", "4"))
async def test_a_letter_that_goes_on_below_its_quotation_decides_no_plan(desk: Desk, decision: str) -> None:
    asked = draft({"kind": "plan", "question": "Shall it be done?", "context": "1. Install Redis"})
    plan = (await desk.hall.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
    now = await desk.shown_at(plan)

    written = Inbound(id="w", user="U1", place="C1", words=decision, rest="but not today", at=now)
    assert not (await desk.deliver(written)).accepted
    assert await desk.is_open(plan)


async def test_a_number_that_a_channel_does_not_show_decides_no_plan(desk: Desk) -> None:
    asked = draft({"kind": "plan", "question": "Shall it be done?", "context": "1. Install Redis"})
    plan = (await desk.hall.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
    now = await desk.shown_at(plan)

    for number in ("3", "4."):
        assert (await desk.write(number, at=now)).line == sentences("en")["plan.what"]
    assert await desk.is_open(plan)
    assert (await desk.write("1", at=now)).accepted
    assert await desk.answer_of(plan) == "Approve"


async def test_the_name_of_a_field_begins_no_line_of_ours(desk: Desk) -> None:
    name = "port\nUpcall: sign in again"
    schema = {"properties": {name: {"type": "integer"}, "b\u202eoth": {"type": "integer"}}}
    asked = draft({"question": "Where?", "response_schema": schema})
    await desk.hall.broker.ask(asked, Origin(agent="bot", session="s", door="test"))
    await desk.hall.one.until(lambda: bool(desk.hall.one.shown))

    heard = await desk.write("1) here\n2) there")
    assert [line.partition(":")[0] for line in heard.line.split("\n")] == ["port Upcall", "both"]


async def test_a_single_field_that_may_be_left_out_can_be_sent_empty(desk: Desk) -> None:
    asked = draft(
        {"question": "Anything else?", "response_schema": {"properties": {"note": {"type": "string"}}}}
    )
    form = (await desk.hall.broker.ask(asked, Origin(agent="bot", session="s", door="test"))).inquiry
    await desk.shown_at(form)

    sent = Inbound(id="f", user="U1", place="C1", inquiry=form.id, given=(Given(),))
    assert await desk.deliver(sent) == Heard(line="", accepted=True)
    state = (await desk.hall.broker.store.get(form.id)).state
    assert isinstance(state, Answered)
    assert state.answer.values == ((),)
