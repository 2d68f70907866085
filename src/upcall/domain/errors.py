"""Everything that can go wrong in a way a caller may handle.

    UpcallError
    ├── InvalidInquiry      a question that breaks a limit; nothing was stored
    ├── InvalidRequest      a request that is not of the documented form
    ├── InvalidSetting      a configuration value that cannot be used
    ├── UnknownInquiry      no inquiry has that id or ref
    ├── UnknownRule         no remembered rule has that id
    ├── UnknownRun          no run has that number
    ├── UnknownThread       no thread has that name
    ├── PromptPending       the thread's open question comes first
    ├── NotItsTurn          another question of the thread comes first
    ├── QuestionNotAlone    a question beside other tool calls
    ├── NoApprovalNeeded    the thread is autonomous and takes no approvals
    ├── RunConflict         the run is not in a state for this
    ├── UnknownPerson       no person of that name may answer in channels
    ├── UnknownChannel      no channel of that name is set up
    ├── UnknownLink         an answer link that is none of ours
    ├── LinkExpired         an answer link that is too old
    ├── LinkUsed            an answer link that has been used
    ├── LinkRevoked         an answer link of a person who may not answer any more
    ├── UnknownAgent        the caller named an agent that it is not
    ├── NotAllowed          the caller's role does not permit this
    ├── Unauthenticated     no token, or one that is unknown or revoked
    ├── EmptyAnswer         nothing but white space
    ├── UnreadableAnswer    not one of the choices, and free text is not allowed
    │   └── UnfitAnswer         fields of a form that do not fit (`inquiry/unfit.py`)
    ├── KeyConflict         the same request key came with other content
    ├── RateLimited         too many asks in too short a time
    ├── DamagedRow          one row cannot be read; all others can
    └── StorageError        the store could not keep what it was given
        ├── StorageFull         no room left
        ├── LostDatabase        the database that was there is missing or empty
        └── NewerDatabase       written by a later version

Each carries a stable `code` for machines, a sentence for people and, where there is one, the next step.
"""

from collections.abc import Sequence
from typing import ClassVar


class UpcallError(Exception):
    """Base of every error that Upcall raises on purpose."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInquiry(UpcallError):
    """A question that breaks a limit: which field, which limit, and what a valid one looks like."""

    code = "invalid_inquiry"

    def __init__(self, field: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"{field}: {problem}", hint=hint)
        self.field = field


class InvalidRequest(UpcallError):
    """A request that is not of the documented form."""

    code = "invalid_request"


class InvalidSetting(UpcallError):
    """A configuration value that cannot be used."""

    code = "invalid_setting"


class UnknownInquiry(UpcallError):
    """No inquiry has that id or ref, or the caller may not see it."""

    code = "unknown_inquiry"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no inquiry {name!r}", hint="`upcall status` lists the open ones")
        self.name = name


class UnknownRule(UpcallError):
    """No remembered rule has that id."""

    code = "unknown_rule"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no rule {name!r}", hint="`upcall rules list` shows them")
        self.name = name


class UnknownRun(UpcallError):
    """No run has that number."""

    code = "unknown_run"

    def __init__(self, number: object) -> None:
        super().__init__(f"there is no run {number}", hint="`upcall runs` lists them")


class UnknownThread(UpcallError):
    """No thread has that name, or it is another agent's."""

    code = "unknown_thread"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no thread {name!r}", hint="GET /v1/threads lists them")


class PromptPending(UpcallError):
    """A question of the thread is open: it comes before anything else."""

    code = "prompt_pending"

    def __init__(self, thread: str, *, hint: str = "wait for its answer first") -> None:
        super().__init__(f"a question is open in the thread {thread!r}", hint=hint)


class NotItsTurn(UpcallError):
    """The question waits for its turn in a thread and is not open yet."""

    code = "not_its_turn"

    def __init__(self, ref: str) -> None:
        super().__init__(
            f"the question {ref!r} waits for another one in its thread", hint="answer that one first"
        )


class QuestionNotAlone(UpcallError):
    """A question was asked beside other tool calls, where it has to be the only one and the last."""

    code = "question_not_alone"

    def __init__(self, calls: Sequence[str]) -> None:
        named = ", ".join(repr(call[:40]) for call in calls[:5])
        super().__init__(
            f"a question has to be the only tool call and the last one; without a result yet: {named}",
            hint="wait for their results, or end them, and ask then",
        )


class NoApprovalNeeded(UpcallError):
    """The agent may act without asking in that thread."""

    code = "no_approval_needed"

    def __init__(self, thread: str) -> None:
        super().__init__(
            f"the thread {thread!r} is autonomous and takes no approvals",
            hint="go on without asking, or set its permissions to approval",
        )


class UnknownPerson(UpcallError):
    """No person of that name may answer in channels."""

    code = "unknown_person"

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no person {name!r}", hint="`upcall people list` shows them")


class UnknownChannel(UpcallError):
    """No channel of that name is set up."""

    code = "unknown_channel"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no channel {name!r}",
            hint="`upcall channels list` shows them; [channels.NAME] adds one",
        )


class UnknownLink(UpcallError):
    """An answer link that was not made here, or that leads to a forgotten question."""

    code = "unknown_link"

    def __init__(self) -> None:
        super().__init__("this is no answer link of this daemon", hint="copy the whole address once more")


class LinkExpired(UpcallError):
    """An answer link that is too old."""

    code = "link_expired"

    def __init__(self) -> None:
        super().__init__("this answer link is too old", hint="sign in to the inbox to answer")


class LinkUsed(UpcallError):
    """An answer link that has been used: each is good for one answer."""

    code = "link_used"

    def __init__(self) -> None:
        super().__init__(
            "this answer link has been used", hint="sign in to the inbox to see what became of it"
        )


class LinkRevoked(UpcallError):
    """An answer link of a person who may not answer any more."""

    code = "link_revoked"

    def __init__(self) -> None:
        super().__init__(
            "the person of this answer link may not answer any more",
            hint="ask an administrator of Upcall to run `upcall people add NAME`",
        )


class RunConflict(UpcallError):
    """The run is not in a state in which this can be done."""

    code = "run_conflict"


class UnknownAgent(UpcallError):
    """The caller named an agent that it is not."""

    code = "unknown_agent"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"unknown agent_id {name!r}", hint="leave it out: the token says which agent is asking"
        )
        self.name = name


class NotAllowed(UpcallError):
    """The caller's role does not permit this."""

    code = "not_allowed"


class Unauthenticated(UpcallError):
    """No token, or one that is unknown or revoked."""

    code = "unauthenticated"


class EmptyAnswer(UpcallError):
    """Nothing but white space: not an answer."""

    code = "empty_answer"

    def __init__(self) -> None:
        super().__init__("an empty answer is not an answer", hint="choose an option or write some text")


class UnreadableAnswer(UpcallError):
    """Not one of the choices, and free text is not allowed."""

    code = "unreadable_answer"


class NotYourDecision(NotAllowed):
    """A person wants to undo what another person has decided."""

    code = "not_your_decision"


class UnusableFile(UpcallError):
    """A file sent with an answer that is too large, of a type that is not taken, or one too many."""

    code = "unusable_file"

    def __init__(self, name: str, problem: str, *, hint: str | None = None) -> None:
        hint = hint or "up to 4 files of 5 MiB: pictures, PDF, ZIP or plain text; no SVG and no HTML"
        super().__init__(f"{name}: {problem}", hint=hint)


class NoteUnread(UpcallError):
    """A note beside a yes, to a prompt whose model would not get to read it."""

    code = "note_unread"


class NotEditable(UpcallError):
    """An action that a person cannot edit, or not like this."""

    code = "not_editable"


class EditDenied(UpcallError):
    """An edited action that a person has denied before, in the same turn of its session."""

    code = "edit_denied"


class NotAnswered(UpcallError):
    """There is no answer that could be corrected."""

    code = "not_answered"


class CannotTell(UpcallError):
    """The agent that asked takes no messages, so it cannot be told."""

    code = "cannot_tell"


class KeyConflict(UpcallError):
    """The same request key came with other content."""

    code = "key_conflict"

    def __init__(self, key: str) -> None:
        super().__init__(
            f"request key {key!r} was already used for something else",
            hint="use a new request_key, or repeat the first request unchanged",
        )
        self.key = key


class RateLimited(UpcallError):
    """Too many asks in too short a time."""

    code = "rate_limited"


class StorageError(UpcallError):
    """The store could not keep what it was given."""

    code = "storage_error"


class StorageFull(StorageError):
    """There is no room left where the database lives."""

    code = "storage_full"


class DamagedRow(UpcallError):
    """A row of the database that holds something else than what was written there.

    No `StorageError`: that concerns every row, and is a reason to stop and try again later. This concerns one row, and is
    no reason to leave the others.
    """

    code = "storage_error"

    def __init__(self, what: str, error: Exception) -> None:
        super().__init__(
            f"{what} in the database cannot be read: {type(error).__name__}: {error}"[:300],
            hint="`upcall restore` puts a backup in its place; everything else can be used meanwhile",
        )


class LostDatabase(StorageError):
    """The database that was there before is missing or empty."""

    code = "lost_database"

    def __init__(self, path: object, how: str, left: Sequence[object]) -> None:
        files = " ".join(map(str, left))
        super().__init__(
            f"the database {str(path)!r} is {how}, and there was one before; bring it back, or put a backup in its "
            "place with `upcall restore FILE`",
            hint=f"to begin with an empty database instead, remove {files}",
        )


class NewerDatabase(StorageError):
    """The database was written by a later version of Upcall."""

    code = "newer_database"
