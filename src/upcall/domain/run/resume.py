"""Resuming a session: when an answer calls for it, and what the agent is told then."""

import re
from collections.abc import Sequence
from dataclasses import replace

from upcall.domain.answer.outcome import outcome
from upcall.domain.inquiry.inquiry import Answered, Change, Inquiry, Open, Origin, Rejected
from upcall.domain.records import NOTHING, Effects, Job

RESUME = "resume"
GRACE = 2.0
"""Seconds that a waiting connection gets to hand an answer over before the resume job is due."""

BEFORE = (
    "You were interrupted while you waited for a person. Meanwhile this was decided, and time has passed: look at the "
    "state of your work before you go on, for some of it may have been done, undone or changed."
)
RESTARTED = (
    "You were interrupted because Upcall was restarted. Look at the state of your work, some of which may be half done, "
    "and go on with your task from there."
)
AFTER = (
    "Go on with your task from where you were. If you need another decision, ask again. If what you asked about has "
    "been settled in another way meanwhile, say so."
)
_PLACE = re.compile(r"\{(question|answer)\}")


def job_id(inquiry: Inquiry) -> str:
    """The id of the resume job of an inquiry."""
    return f"{RESUME}:{inquiry.id}"


def subject(run: int) -> str:
    """The subject of the resume jobs of a run."""
    return f"run:{run}"


def subject_of(origin: Origin) -> str:
    """The subject of an inquiry's resume job: its run, or the session that a person started."""
    return session_subject(origin.program, origin.session) if origin.run is None else subject(origin.run)


def session_subject(program: str, session: str) -> str:
    """The subject of the resume jobs of a session."""
    return f"session:{program}:{session}"


def is_named(origin: Origin) -> bool:
    """Whether the asker has told its session; one that has not goes by the name of its agent."""
    return origin.session != origin.agent


def consequences(change: Change) -> Effects:
    """Add the resume job together with an answer, and drop it when there is evidence that the agent has the answer."""
    inquiry = change.inquiry
    origin = inquiry.origin
    if origin.run is None and not (origin.program and origin.runner and is_named(origin)):
        return NOTHING
    match change.happening.type:
        case "answered" | "rejected":
            due = change.happening.at + GRACE
            job = Job(
                id=job_id(inquiry),
                kind=RESUME,
                subject=subject_of(origin),
                due=due,
                runner=origin.runner,
                body={"inquiry": inquiry.id, "run": origin.run},
            )
            return Effects(jobs=(job,))
        case "collected":
            return Effects(dropped=(job_id(inquiry),))
        case _:
            return NOTHING


def needs_delivery(inquiry: Inquiry) -> bool:
    """Whether an agent still has to hear how its question ended."""
    match inquiry.state:
        case Answered(collected_at=collected_at):
            return collected_at is None
        case Rejected():
            return True
        case _:
            return False


def is_evidence(inquiry: Inquiry, call: str, text: str) -> bool:
    """Whether a tool's result in an agent's stream shows that it has the answer to this inquiry.

    Where the program names its calls to us, the result of another call counts only if it names the inquiry as well.
    """
    if not needs_delivery(inquiry) or outcome(replace(inquiry, state=Open())).text in text:
        return False
    key = inquiry.origin.request_key or ""
    if call and key == call:
        return True
    told = outcome(inquiry).text in text
    # A key with a colon in it is our own pipe's, and says nothing about the program's names.
    if call and key and ":" not in key:
        return told and inquiry.id in text
    return told or _is_answered_in(inquiry, text)


def _is_answered_in(inquiry: Inquiry, text: str) -> bool:
    """Whether a text has every question with its answer, as programs' own question tools report them."""
    if not isinstance(inquiry.state, Answered):
        return False
    values = [value for given in inquiry.state.answer.values for value in given]
    return all(part in text for part in [*(question.text for question in inquiry.questions), *values])


def message(settled: Sequence[Inquiry], still_open: Sequence[Inquiry] = (), *, template: str = "") -> str:
    """What a resumed agent is told: what it asked, the options, what came of it, and to check the state of its work first.

    A template replaces all these words where there is an answer, with `{question}` and `{answer}` filled in.
    """
    parts = [_filled(template, inquiry) if template else _told(inquiry) for inquiry in settled]
    if still_open:
        refs = ", ".join(f"{inquiry.id} (ref {inquiry.ref})" for inquiry in still_open)
        parts.append(f"Not answered yet: {refs}. Call wait_for_answer with such an id to wait for it.")
    return "\n\n".join(parts if template else [BEFORE, *parts, AFTER])


def _filled(template: str, inquiry: Inquiry) -> str:
    if not isinstance(inquiry.state, Answered):
        return _told(inquiry)
    values = {
        "question": "\n".join(question.text for question in inquiry.questions),
        # The words of the template say how the time has passed, if they are to.
        "answer": "\n".join(
            ", ".join(given) for given in replace(outcome(inquiry), waited=None).worded or ()
        ),
    }
    # In one go: what a person has answered is never looked at for more places.
    return _PLACE.sub(lambda place: values[place[1]], template.strip())


def _told(inquiry: Inquiry) -> str:
    lines: list[str] = []
    for question in inquiry.questions:
        lines.append(f"You asked: {question.text}")
        if question.options and not inquiry.kind.is_consent:
            lines.append("The options were: " + "; ".join(question.labels))
    if inquiry.kind.is_consent and inquiry.context:
        lines.append(f"It was about:\n{inquiry.context}")
    return "\n".join([*lines, outcome(inquiry).text])
