"""What people reply, and what comes of it: the values that go into the broker and come out again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from upcall.domain.answer import plans as deciding, reading, typed
from upcall.domain.answer.matching import well_formed
from upcall.domain.answer.reading import ReadingRules
from upcall.domain.approval.rules import Remember
from upcall.domain.errors import EmptyAnswer, InvalidRequest
from upcall.domain.inquiry.comment import Comment
from upcall.domain.inquiry.inquiry import Answer, Answered, Change, Closing, Inquiry, Kind, Open
from upcall.domain.inquiry.limits import Limits, weight
from upcall.domain.inquiry.uploads import Upload
from upcall.domain.records import NOTHING, Effects
from upcall.ports.store import Updated


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a person said: words to be read, or an answer for each question as it stands."""

    text: str | None = None
    answers: Sequence[Sequence[str]] | None = None
    choices: Sequence[str] | None = None
    content: Mapping[str, object] | None = None
    """A form filled in, as the object that its schema describes."""
    note: str = ""
    """What the person wrote beside their choice."""
    comments: tuple[Comment, ...] = ()
    """What the person said about passages of a plan."""
    input: Mapping[str, object] | None = None
    """What the tool is given instead, where the person edited the action."""
    files: tuple[Upload, ...] = ()
    """What the person sent with it."""
    via: str = "api"
    key: str | None = None
    force: bool = False
    remember: Remember | None = None
    first_vote_only: bool = False
    clear: bool = False
    """Whether words that are neither a clear yes nor a clear no to an approval are refused, under any settings."""
    effects: Effects = NOTHING
    """What else is written if it is taken, in the same step."""
    hold: float = 0.0
    """Seconds in which the person can undo it; the asker is told afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The inquiry after a request, and whether that request's resolution stands or its vote counts."""

    accepted: bool
    inquiry: Inquiry


def read(inquiry: Inquiry, reply: Reply, rules: ReadingRules, limits: Limits) -> Answer:
    """The answer that a reply stands for.

    Raises:
        InvalidRequest: if it is too long, or not of the form that the questions have.
        EmptyAnswer: if there is nothing in it.
        UnreadableAnswer: if it is none of the choices and free text is not allowed.
    """
    given = [*(reply.answers or ()), reply.choices or (), (reply.text or "",)]
    size = sum(len(value) for values in given for value in values)
    size += sum(len(each.text) + len(each.passage) for each in reply.comments)
    size += 0 if reply.content is None else weight(reply.content, limits.answer)
    if size > limits.answer:
        raise InvalidRequest(f"an answer has at most {limits.answer} characters, got {size}")
    note = well_formed(reply.note).strip()
    longest = limits.answer if inquiry.kind is Kind.PLAN else limits.reason
    if len(note) > longest:
        raise InvalidRequest(f"a note has at most {longest} characters, got {len(note)}")
    try:
        answer = _read(inquiry, reply, rules)
    except EmptyAnswer:
        # A picture may say it all.
        several = len(inquiry.questions) > 1 or typed.is_form(inquiry)
        if not reply.files or several or inquiry.kind.is_consent:
            raise
        answer = reading.take(inquiry, [[", ".join(file.attachment.name for file in reply.files)]])
    if inquiry.kind is Kind.PLAN:
        answer = deciding.completed(inquiry, answer, note, reply.comments)
    elif reply.comments:
        raise InvalidRequest("comments: the question is no plan", hint="say it in `note`")
    else:
        answer = replace(answer, note=note)
    return replace(answer, files=tuple(file.attachment for file in reply.files))


def completed(change: Change, reply: Reply) -> Change:
    """A step with what is written because of a reply: its effects, and its files unless the step was only a vote."""
    state = change.inquiry.state
    if isinstance(state, Open) and state.held is not None:
        state = state.held.decision
    filed = isinstance(state, Answered) and bool(state.answer.files)
    return replace(
        change,
        effects=change.effects + reply.effects,
        blobs=tuple(file.content for file in reply.files) if filed else (),
    )


def _read(inquiry: Inquiry, reply: Reply, rules: ReadingRules) -> Answer:
    if reply.answers is not None:
        return reading.take(inquiry, reply.answers)
    if reply.choices is not None:
        return reading.choose(inquiry, reply.choices, rules)
    if reply.content is not None:
        if not typed.is_form(inquiry):
            raise InvalidRequest("content: the question is no form", hint='send {"answers": [["…"]]}')
        return reading.as_taken(typed.filled_in(inquiry, reply.content))
    if reply.clear:
        rules = replace(rules, unknown_approval="reask")
    return reading.read(inquiry, reply.text or "", rules)


def settled(updated: Updated, closing: Closing, wanted: type) -> Settled:
    """A request is accepted if it settled the inquiry, or if it repeats the one that did."""
    state = updated.inquiry.state
    if isinstance(state, Open) and state.held is not None:
        state = state.held.decision
    if isinstance(state, Open) and wanted is Answered:
        mine = [vote for vote in state.votes if vote.by == closing.by]
        repeats = closing.key is not None and any(vote.key == closing.key for vote in mine)
        return Settled(accepted=(updated.applied and closing in mine) or repeats, inquiry=updated.inquiry)
    if isinstance(state, Open) or not isinstance(state, wanted):
        return Settled(accepted=False, inquiry=updated.inquiry)
    stands = state.closing
    repeats = closing.key is not None and (stands.key, stands.by) == (closing.key, closing.by)
    # A step may also have ended it by its default, when the answer came too late.
    return Settled(accepted=(updated.applied and stands == closing) or repeats, inquiry=updated.inquiry)
