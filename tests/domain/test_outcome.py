"""What an asker is told beside the answer itself: a note, and how long the person took."""

from dataclasses import replace

import pytest

from upcall.domain.answer.outcome import outcome
from upcall.domain.inquiry import lifecycle
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Answer, Inquiry, Kind, OnExpiry
from upcall.testing.examples import HOUR, NOW, a_closing, a_question, an_answer, an_inquiry

MINUTE = 60


def answered(inquiry: Inquiry, answer: Answer, after: float = 1) -> Inquiry:
    change = lifecycle.answer(inquiry, answer, a_closing(at=NOW + after))
    assert change is not None
    return change.inquiry


@pytest.mark.promise("desk/12")
def test_a_long_wait_is_told_as_no_running_time() -> None:
    told = outcome(answered(an_inquiry(), an_answer("Red"), after=47 * MINUTE + 5))

    assert told.text == (
        "The user answered: Red (answered after 47 min; waiting for a person, not running time)"
    )
    assert told.waited == 47 * MINUTE + 5


@pytest.mark.promise("desk/12")
def test_a_short_wait_is_told_in_seconds_alone() -> None:
    told = outcome(answered(an_inquiry(), an_answer("Red"), after=59))

    assert (told.text, told.waited) == ("The user answered: Red", 59)


@pytest.mark.promise("desk/12")
def test_a_refusal_says_how_long_it_took_too() -> None:
    change = lifecycle.reject(an_inquiry(), a_closing(at=NOW + 30 * MINUTE))
    assert change is not None

    assert outcome(change.inquiry).text.endswith(
        "(declined after 30 min; waiting for a person, not running time)"
    )


@pytest.mark.promise("desk/12")
def test_a_program_that_takes_answers_alone_is_told_the_wait_within_the_last_of_them() -> None:
    told = outcome(answered(an_inquiry(), replace(an_answer("Red"), note="matt"), after=47 * MINUTE))
    wait = "answered after 47 min; waiting for a person, not running time"

    assert told.worded == ((f"Red (their note: matt; {wait})",),)
    assert outcome(answered(an_inquiry(), an_answer("Red"))).worded == (("Red",),)


def test_a_default_that_no_person_gave_tells_of_no_person() -> None:
    asked = an_inquiry(on_expiry=OnExpiry.DEFAULT, default="Blue")
    change = lifecycle.expire(asked, NOW + HOUR)
    assert change is not None
    told = outcome(change.inquiry)

    assert told.waited is None
    assert "person" not in told.text


@pytest.mark.promise("desk/22")
def test_a_note_stands_beside_the_choice() -> None:
    told = outcome(answered(an_inquiry(), replace(an_answer("Red"), note="but only the doors")))

    assert told.text == "The user answered: Red\nTheir note: but only the doors"
    assert (told.answers, told.note) == ((("Red",),), "but only the doors")
    assert told.worded == (("Red (their note: but only the doors)",),)


@pytest.mark.promise("desk/22")
def test_a_note_beside_a_yes_changes_nothing_about_the_action() -> None:
    asked = an_inquiry(kind=Kind.APPROVAL, questions=(a_question(options=()),))
    settled = answered(asked, replace(an_answer(APPROVE), note="but tell Ben"))

    assert settled.is_approved
    assert outcome(settled).text == (
        "The user answered: Approve\nTheir note: but tell Ben\n"
        "(The approval is of exactly what was shown; the note is for what you do besides.)"
    )


@pytest.mark.promise("desk/22")
def test_a_denial_is_told_with_its_reason() -> None:
    asked = an_inquiry(kind=Kind.APPROVAL, questions=(a_question(options=()),))

    assert outcome(answered(asked, replace(an_answer(DENY), note="use staging"))).text == (
        "The user denied this. Do not perform the action. Their words: use staging"
    )
