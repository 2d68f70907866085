"""The inquiry: its questions, its origin, its state and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from upcall.domain.inquiry.activity import Activity
from upcall.domain.inquiry.comment import Comment
from upcall.domain.inquiry.field import Field
from upcall.domain.records import NOTHING, Effects, Happening

APPROVE = "Approve"
DENY = "Deny"
OWN_TERMINAL = "own_terminal"
"""Through what an inquiry is closed whose dialog was answered in the terminal of its session."""

LOCAL_AGENT = "local"
"""The name of the token that all sessions have which the owner of a home starts without another."""


class Kind(StrEnum):
    """The kind of input that an inquiry asks for."""

    TEXT = "text"
    APPROVAL = "approval"
    CHOICE = "ask_user_question"
    PLAN = "plan"

    @property
    def is_consent(self) -> bool:
        """Whether its yes lets an agent act, so that silence and doubt are a no."""
        return self in (Kind.APPROVAL, Kind.PLAN)


class OnExpiry(StrEnum):
    """What becomes of an inquiry when its time to live has passed."""

    EXPIRE = "expire"
    DENY = "deny"
    DEFAULT = "default"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One suggested answer."""

    label: str
    description: str = ""
    recommended: bool = False
    preview: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question to a person; `custom` allows an answer in their own words, `field` is the type of the answer to a form."""

    text: str
    header: str = ""
    options: tuple[Option, ...] = ()
    multi: bool = False
    custom: bool = True
    field: Field | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The options' labels in the order shown."""
        return tuple([option.label for option in self.options])


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file shown beside an inquiry, or sent with its answer; its bytes live in the store.

    `path` is where a copy was written for the agent, and is not kept.
    """

    name: str
    media_type: str
    size: int
    digest: str
    path: str = ""


ANSWER_FILES = 1000
"""The position in the store of the first file of an answer; those of the question have smaller ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an inquiry came from: enough to show it, to rejoin it and to resume its session.

    `run` is the supervised run that asks. Otherwise `program` is the agent program of the session, where it is known. `runner`
    is the machine that can resume either. `client` is the name that the asking program gives itself. `branch` is the one that
    the folder was on when it asked.
    """

    agent: str
    session: str
    door: str
    workspace: str | None = None
    thread: str | None = None
    run: int | None = None
    program: str = ""
    runner: str = ""
    purpose: str = "question"
    request_key: str | None = None
    client: str = ""
    branch: str = ""

    @property
    def asker(self) -> str:
        """The asker's name for people: sessions of the owner share one name, so the name of their program is shown instead."""
        if self.agent != LOCAL_AGENT or not self.client:
            return self.agent
        folder = (self.workspace or "").rstrip("/").rpartition("/")[2]
        return f"{self.client} in {folder}" if folder else self.client


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The action that an approval is about, as far as a rule can be made of it.

    `exact` recognises the very same action; `words` are those of a single simple command without secrets, if it is one.
    `anywhere` recognises a command in any directory, if the command is all that there is to the action. `unclear` is what makes a
    command more than one simple command. `given` is the input of the tool, where a person can edit it; `runs_edited` says whether the
    program would run that, `hears` whether words beside a yes reach its model.
    """

    tool: str
    cwd: str
    exact: str
    words: tuple[str, ...] = ()
    anywhere: str = ""
    unclear: str = ""
    given: Mapping[str, object] | None = None
    runs_edited: bool = False
    hears: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """An action as a person changed it: the input that its tool is given instead, and its SHA-256.

    `before` and `after` are both actions as they are shown, `difference` is what was changed, field by field.
    """

    input: Mapping[str, object]
    digest: str
    before: str
    after: str
    difference: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """Who ended an inquiry, through what, when and why; `key` recognises a repeated request.

    `edited` is the SHA-256 of the action as this person changed it, and empty where it is taken as it was asked.
    """

    by: str
    via: str
    at: float
    reason: str | None = None
    key: str | None = None
    edited: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was answered: for each question a list of strings, the raw words, a note beside the choice, comments on passages of a plan, and files.

    `edit` is the action that was approved in place of the one that was asked for; beside a denial, it is a suggestion.
    """

    values: tuple[tuple[str, ...], ...]
    text: str
    note: str = ""
    comments: tuple[Comment, ...] = ()
    files: tuple[Attachment, ...] = ()
    edit: Edit | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBack:
    """Words of a person to the asker; `told` when a call has returned with them, with the asker's `reply` if there is one."""

    by: str
    at: float
    words: str
    told: bool = False
    reply: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Open:
    """Waiting for a person; a snoozed one is open and quiet until then.

    `votes` are those who have approved so far, where it takes several, and `edits` the changed actions among what they
    approved. One that is still waiting for its turn in a
    thread has `queued`: its time to live in seconds, which starts at its turn. One that a person has decided and can
    still undo has the decision in `held`. What people have asked the asker meanwhile is in `back`.
    """

    snoozed_until: float | None = None
    votes: tuple[Closing, ...] = ()
    queued: float | None = None
    held: "Held | None" = None
    back: tuple[AskedBack, ...] = ()
    edits: tuple[Edit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """Answered; `collected_at` is when there was evidence that the agent has it, `votes` are who approved before.

    `forwarded_at` is when a session that had ended was first brought back for it, `released_at` when the next question
    of its thread was put without waiting for that evidence.
    """

    closing: Closing
    answer: Answer
    collected_at: float | None = None
    forwarded_at: float | None = None
    released_at: float | None = None
    votes: tuple[Closing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A person declined to answer."""

    closing: Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A decision that stands against all others and is told to the asker at `until`, unless it is undone before."""

    decision: Answered | Rejected
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """The asker, or its end, withdrew the question."""

    closing: Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """No answer came in time."""

    closing: Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """No place could take the question, or its run failed with it."""

    closing: Closing


Closed = Answered | Rejected | Cancelled | Expired | Failed
State = Open | Closed

STATE_NAMES: dict[type[State], str] = {
    Open: "open",
    Answered: "answered",
    Rejected: "rejected",
    Cancelled: "cancelled",
    Expired: "expired",
    Failed: "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """One request for input.

    `ref` is the short name that a person types, empty until a store gave one; `digest` is over what was asked,
    before any secrets in it were masked, of which there were `redacted`. An approval of an action has a `subject`, and
    its digest is the action's. An approval takes as many people as its `quorum`, and one of them to deny it. `activity` is
    what its agent was doing, as soon as that was read. A plan is its context; `earlier_plan` is the one that it takes up.
    """

    id: str
    ref: str
    kind: Kind
    questions: tuple[Question, ...]
    origin: Origin
    asked_at: float
    expires_at: float
    context: str = ""
    attachments: tuple[Attachment, ...] = ()
    on_expiry: OnExpiry = OnExpiry.EXPIRE
    default: str | None = None
    labels: tuple[str, ...] = ()
    secret: bool = False
    redacted: int = 0
    digest: str = ""
    subject: Subject | None = None
    quorum: int = 1
    earlier_plan: str = ""
    activity: Activity | None = None
    state: State = Open()

    @property
    def is_open(self) -> bool:
        """Whether a person can still answer without force."""
        return isinstance(self.state, Open)

    @property
    def is_queued(self) -> bool:
        """Whether it is not asked yet, because another inquiry of its thread comes first."""
        return isinstance(self.state, Open) and self.state.queued is not None

    @property
    def held(self) -> Held | None:
        """The decision that can still be undone, of which the asker knows nothing yet."""
        return self.state.held if isinstance(self.state, Open) else None

    @property
    def asked_back(self) -> tuple[AskedBack, ...]:
        """What people have asked the asker, while it is open."""
        return self.state.back if isinstance(self.state, Open) else ()

    @property
    def is_approved(self) -> bool:
        """Whether it is an approval that was given."""
        match self.state:
            case Answered(answer=answer):
                return self.kind is Kind.APPROVAL and answer.values == ((APPROVE,),)
            case _:
                return False

    @property
    def votes(self) -> tuple[Closing, ...]:
        """The people who approved, including the one who settled it; while it is open, of each edited action too."""
        match self.state:
            case Open(votes=votes):
                return votes
            case Answered(votes=votes, closing=closing, answer=answer) if answer.values == ((APPROVE,),):
                return (*(vote for vote in votes if vote.edited == closing.edited), closing)
            case _:
                return ()

    def votes_for(self, edited: str = "") -> tuple[Closing, ...]:
        """The people who approved an edited action, by its SHA-256; without one, the action as it was asked."""
        return tuple(vote for vote in self.votes if vote.edited == edited)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edited actions that some have approved, and that take further people."""
        return self.state.edits if isinstance(self.state, Open) else ()

    @property
    def edit(self) -> Edit | None:
        """The action that was decided in place of the one that was asked for: approved, or suggested with a denial."""
        return self.state.answer.edit if isinstance(self.state, Answered) else None

    @property
    def state_name(self) -> str:
        """The public name of the state, such as `open` or `answered`."""
        return STATE_NAMES[type(self.state)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One atomic step: the new inquiry, its event, and the effects that are written with it.

    `blobs` are the bytes of the answer's files, in order.
    """

    inquiry: Inquiry
    happening: Happening
    effects: Effects = NOTHING
    blobs: tuple[bytes, ...] = ()
