"""When an answer counts as delivered, and what a resumed agent is told."""

from dataclasses import replace

import pytest

from upcall.access.connected import is_resumable
from upcall.domain.answer.outcome import outcome
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import Answered, Change, Inquiry, Open
from upcall.domain.run import resume
from upcall.testing.examples import NOW, a_closing, an_answer, an_inquiry, answering, rejecting


def settled(change: Change | None) -> Inquiry:
    assert change is not None
    return change.inquiry


def test_the_result_of_its_own_call_is_evidence() -> None:
    answered = settled(answering("Red")(an_inquiry(request_key="call-1")))
    assert resume.is_evidence(answered, "call-1", "a text of the program's own")


@pytest.mark.promise("spec/95")
def test_a_parked_result_is_no_evidence_even_if_the_answer_came_a_moment_later() -> None:
    answered = settled(answering("Red")(an_inquiry(request_key="call-1")))
    parked = outcome(replace(answered, state=Open())).text
    assert not resume.is_evidence(answered, "call-1", parked)
    assert not resume.is_evidence(answered, "", parked)


def test_another_calls_result_must_name_the_question_as_well() -> None:
    """Two questions may be answered in the same words."""
    answered = settled(answering("Red")(an_inquiry(request_key="call-1")))
    words = outcome(answered).text
    assert not resume.is_evidence(answered, "call-2", words)
    assert not resume.is_evidence(answered, "call-2", f"{answered.id} is what I asked")
    assert resume.is_evidence(answered, "call-2", f'{words} {{"id": "{answered.id}"}}')


def test_without_names_for_calls_the_words_are_evidence() -> None:
    answered = settled(answering("Red")(an_inquiry(request_key="0123:4")))
    assert resume.is_evidence(answered, "call_9", "The user answered: Red")
    assert resume.is_evidence(answered, "call_9", '"Which colour?"="Red"')
    assert not resume.is_evidence(answered, "call_9", "Red")


def test_a_refusal_that_was_heard_need_not_be_told_again() -> None:
    refused = settled(rejecting(reason="not now")(an_inquiry(request_key="call-1")))
    assert resume.is_evidence(refused, "call-1", "")
    assert resume.is_evidence(
        replace(refused, origin=replace(refused.origin, request_key=None)), "", outcome(refused).text
    )


@pytest.mark.promise("desk/12")
def test_a_resumed_session_is_told_how_long_the_person_took_and_a_template_has_its_own_words() -> None:
    change = lifecycle.answer(an_inquiry(), an_answer("Red"), a_closing(at=NOW + 47 * 60))
    inquiry = settled(change)

    assert "(answered after 47 min; waiting for a person, not running time)" in resume.message([inquiry])
    assert resume.message([inquiry], template="{answer}") == "Red"


def test_nothing_is_left_to_deliver_once_it_was_collected() -> None:
    answered = settled(answering("Red")(an_inquiry(request_key="call-1")))
    assert isinstance(answered.state, Answered)
    collected = replace(answered, state=replace(answered.state, collected_at=1.0))
    assert not resume.is_evidence(collected, "call-1", outcome(collected).text)


@pytest.mark.parametrize(
    ("program", "session", "expected"),
    [
        ("claude", "0b9e-4f", True),
        ("codex", "019a.x_1", True),
        ("claude", "--dangerously-skip-permissions", False),
        ("codex", "--last", False),
        ("codex", "a b", False),
        ("codex", "", False),
        ("codex", None, False),
        ("bash", "0b9e", False),
    ],
)
def test_only_what_looks_like_a_session_of_a_known_program_is_ever_resumed(
    program: str, session: str | None, *, expected: bool
) -> None:
    assert is_resumable(program, session) is expected
