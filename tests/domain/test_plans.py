"""A plan: how a decision is read, what comments are about, what the model is told, and what changed since the plan before."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from upcall.broker.replies import Reply, read as read_reply
from upcall.channels.words import sentences
from upcall.domain.answer.comments import MOST, comments_in, read as remarks_in
from upcall.domain.answer.correction import NO_CONSENT, message as correction_of
from upcall.domain.answer.outcome import outcome
from upcall.domain.answer.plans import completed
from upcall.domain.answer.reading import ReadingRules, choose, read
from upcall.domain.approval import consent
from upcall.domain.channel.degrading import asks_for_words, view
from upcall.domain.channel.showing import Capabilities, Control
from upcall.domain.errors import InvalidInquiry, InvalidRequest, NotAllowed, NoteUnread, UnreadableAnswer
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.comment import Comment
from upcall.domain.inquiry.inquiry import APPROVE, Answer, Answered, Inquiry, Kind, OnExpiry
from upcall.domain.inquiry.lifecycle import expire, rejoins
from upcall.domain.inquiry.limits import Limits
from upcall.domain.inquiry.plans import ACCEPT_EDITS, OPTIONS, REJECT, REVISE, decision
from upcall.domain.inquiry.revisions import difference, revised
from upcall.domain.roles import Caller, Role
from upcall.domain.run.resume import message
from upcall.testing.examples import HOUR, NOW, a_closing, a_question, an_inquiry, an_origin

PLAN = "# Cache\n\n1. Install Redis\n2. Write `cache.txt`\n\nThen *stop* the old server."
SENT = {"kind": "plan", "question": "Shall this plan be carried out?", "context": PLAN}


def a_plan(**changes: object) -> Inquiry:
    fields: dict[str, object] = {
        "kind": Kind.PLAN,
        "questions": (a_question(text=SENT["question"], header="Plan", options=OPTIONS),),
        "context": PLAN,
        **changes,
    }
    return an_inquiry(**fields)


def given_to(plan: Inquiry, **reply: Any) -> Answer:
    return read_reply(plan, Reply(**reply), ReadingRules(), Limits())


def settled(plan: Inquiry, **reply: Any) -> Inquiry:
    return replace(plan, state=Answered(closing=a_closing(), answer=given_to(plan, **reply)))


@pytest.mark.promise("raised/14")
@pytest.mark.parametrize(
    ("words", "decided", "note"),
    [
        ("yes", APPROVE, ""),
        ("Approve", APPROVE, ""),
        ("**ok**", APPROVE, ""),
        ("1", APPROVE, ""),
        ("3.", ACCEPT_EDITS, ""),
        ("approve and accept edits", ACCEPT_EDITS, ""),
        ("no", REJECT, ""),
        ("4", REJECT, ""),
        ("reject: too risky", REJECT, "too risky"),
        ("revise: use SQLite", REVISE, "use SQLite"),
        ("use SQLite", REVISE, "use SQLite"),
        ("yes, but use SQLite", REVISE, "yes, but use SQLite"),
        ("no, use SQLite", REVISE, "no, use SQLite"),
        ("approve it", REVISE, "approve it"),
        ("bypass permissions", REVISE, "bypass permissions"),
        ("9", REVISE, "9"),
    ],
)
def test_only_a_clear_yes_approves_and_other_words_send_the_plan_back(
    words: str, decided: str, note: str
) -> None:
    answer = given_to(a_plan(), text=words)
    assert (answer.values, answer.note) == (((decided,),), note)


@given(words=st.text(min_size=1, max_size=60))
def test_words_that_are_no_decision_never_approve(words: str) -> None:
    yes = {"yes", "y", "ok", "allow", "approve", "approved", "1", "3", APPROVE, ACCEPT_EDITS}
    try:
        answer = read(a_plan(), words)
    except Exception:  # noqa: BLE001 - nothing to see in it, which is no yes either
        return
    if answer.values in (((APPROVE,),), ((ACCEPT_EDITS,),)):
        assert any(each.casefold() in words.casefold() for each in yes)


@pytest.mark.promise("raised/13")
def test_comments_are_about_a_passage_or_a_line_and_the_rest_is_the_note() -> None:
    words = "Good so far.\n\n> Install Redis\nMemcached is enough.\nReally.\n\nL4: call it store.txt\nL5-6: not yet\n\n> Nothing said here"
    assert remarks_in(words, PLAN).note == "Good so far."
    assert remarks_in(words, PLAN).comments == (
        Comment(text="Memcached is enough.\nReally.", passage="Install Redis", line=3),
        Comment(text="call it store.txt", passage="2. Write `cache.txt`", line=4),
        Comment(text="not yet", passage="\nThen *stop* the old server.", line=5),
    )


def test_a_passage_is_found_as_it_is_drawn_and_a_line_that_is_not_there_is_words() -> None:
    drawn = remarks_in("> Write cache.txt\nno\n\n> Then stop\nlater", PLAN).comments
    assert [each.line for each in drawn] == [4, 6]
    assert remarks_in("L99: too far", PLAN).note == "L99: too far"
    twice = remarks_in("> same\nwhich?", "same\nsame").comments
    assert twice == (Comment(text="which?", passage="same", line=None),)


@pytest.mark.parametrize(
    "sent", ["words", [{"line": 3}], [{"text": "x", "line": 0}], [{"text": "x", "passage": 3}], [3]]
)
def test_comments_of_another_form_are_refused_with_an_example(sent: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        comments_in(sent)
    assert "comments" in refused.value.message
    assert refused.value.hint


def test_a_comment_on_a_line_that_the_plan_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="6 lines, not 7"):
        given_to(a_plan(), answers=[[REVISE]], comments=(Comment(text="x", line=7),))


@pytest.mark.promise("raised/14")
def test_the_model_is_told_each_comment_under_its_passage() -> None:
    told = outcome(
        settled(
            a_plan(), answers=[[REVISE]], note="Mostly fine.", comments=(Comment(text="Use SQLite.", line=3),)
        )
    )
    assert told.text.startswith("The user wants the plan revised. Do not carry it out.")
    assert "Mostly fine.\n\nLine 3:\n> 1. Install Redis\nUse SQLite." in told.text
    assert (
        "do not submit it again. Their words:\n\ntoo risky"
        in outcome(settled(a_plan(), text="reject: too risky")).text
    )
    assert outcome(settled(a_plan(), text="yes")).text.startswith("The user approved the plan.")
    assert "This is not a yes" in outcome(a_plan()).text
    assert PLAN in message([settled(a_plan(), text="yes")])


def test_a_plan_goes_back_with_words_and_is_approved_without() -> None:
    with pytest.raises(UnreadableAnswer, match="say what should change"):
        given_to(a_plan(), answers=[[REVISE]])
    with pytest.raises(NoteUnread):
        given_to(a_plan(), answers=[[APPROVE]], note="and quickly")
    with pytest.raises(UnreadableAnswer, match="one decision"):
        given_to(a_plan(), answers=[[APPROVE, REJECT]])
    both = choose(a_plan(), ["revise", "L3: Memcached"])
    assert completed(a_plan(), both, "", ()).comments[0].line == 3


def test_silence_is_no_consent_to_a_plan_and_an_old_yes_is_not_given_again() -> None:
    with pytest.raises(InvalidInquiry):
        draft({**SENT, "default": APPROVE})
    late = expire(a_plan(on_expiry=OnExpiry.DENY), NOW + 2 * HOUR)
    assert late is not None
    assert late.inquiry.state_name == "expired"
    assert not rejoins(a_plan(), a_plan(), NOW + 2 * HOUR)


def test_a_plan_has_its_text_as_context_and_its_own_decisions() -> None:
    made = draft(SENT)
    assert (made.kind, made.context, made.questions[0].labels) == (
        Kind.PLAN,
        PLAN,
        (APPROVE, REVISE, ACCEPT_EDITS, REJECT),
    )
    for bad in ({**SENT, "context": " "}, {**SENT, "options": ["a", "b"]}):
        with pytest.raises(InvalidInquiry):
            draft(bad)


def test_the_person_who_started_a_run_may_be_barred_from_approving_its_plan() -> None:
    ana = Caller(name="ana", role=Role.PERSON)
    with pytest.raises(NotAllowed):
        consent.check(a_plan(), given_to(a_plan(), answers=[[ACCEPT_EDITS]]), ana, "ana")
    consent.check(a_plan(), given_to(a_plan(), text="use SQLite"), ana, "ana")


@pytest.mark.promise("raised/15")
def test_a_plan_takes_up_the_last_one_of_its_session_that_was_not_approved() -> None:
    first = replace(settled(a_plan(context="old"), text="change it"), asked_at=NOW - 9)
    other = settled(a_plan(context="of another", session="session-2"), text="change it")
    assert revised([first, other], an_origin()) == "old"
    assert revised([settled(a_plan(), text="yes"), first], an_origin()) == ""
    assert revised([settled(a_plan(request_key="k"), text="no")], an_origin(request_key="k")) == ""
    assert revised([], an_origin()) == ""
    changed = difference(PLAN, PLAN.replace("Redis", "Memcached"))
    assert "-1. Install Redis\n+1. Install Memcached" in changed
    assert difference(PLAN, PLAN) == ""
    assert difference("a\n" * 3000, "b") == ""


@pytest.mark.promise("raised/17")
@pytest.mark.parametrize(
    "can", [Capabilities(buttons=3), Capabilities(), Capabilities(buttons=3, radio=10, form=4)]
)
def test_channels_show_a_plan_as_text_with_approve_and_revise_and_a_link(can: Capabilities) -> None:
    words = sentences("en")
    shown = view(a_plan(ref="a7"), can, words, "https://inbox/i/1")
    (asked,) = shown.questions
    assert shown.context == PLAN
    assert [choice.full for choice in asked.choices] == ["Approve", "Revise"]
    assert asked.control is (Control.BUTTONS if can.buttons else Control.WORDS)
    assert shown.more.endswith("https://inbox/i/1")
    assert shown.hint == words["plan.hint"]
    assert not asks_for_words(a_plan(), can, words, "3")


def test_a_long_plan_is_cut_in_a_channel_and_whole_behind_the_link() -> None:
    shown = view(a_plan(context="x" * 9000), Capabilities(buttons=3), sentences("en"), "https://inbox/i/1")
    assert len(shown.context) < 3000
    assert shown.more.count("https://inbox/i/1") == 2


def test_the_decision_has_a_name_for_programs() -> None:
    assert decision(a_plan(), given_to(a_plan(), text="3")) == "accept_edits"
    assert decision(an_inquiry(), Answer(values=((APPROVE,),), text="")) is None


@pytest.mark.thorough
def test_a_long_plan_with_many_comments_is_read_in_time() -> None:
    plan = "\n".join(f"line {number} of *the* plan" for number in range(100_000))
    found = remarks_in("> line 99999 of the plan\nno\n" * MOST, plan).comments
    assert [each.line for each in found] == [100_000] * MOST
    with pytest.raises(InvalidRequest, match="at most 200 comments"):
        remarks_in("> line 7 of\nno\n" * (MOST + 1), plan)


def test_a_correction_of_a_plan_that_was_sent_back_approves_nothing() -> None:
    answer = Answer(values=((REVISE,),), text="use SQLite", note="use SQLite")
    sent_back = a_plan(state=Answered(closing=a_closing(), answer=answer))
    assert NO_CONSENT in correction_of(sent_back, "go ahead", "ana")
