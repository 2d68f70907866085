"""What the daemon refuses, as exception classes: one for each documented code, and `Unreachable` where no daemon answers.

    UpcallError
    ├── Unreachable         no daemon answers at the address
    ├── DaemonFailed        the daemon of this machine was started and did not come up
    ├── UnfitResponse       the answer is not of the type that `response` names
    ├── RunFailed           the server of an agent that a bridge runs ended the run, or cannot be reached
    └── Refused             the daemon refused the request; `status` is the HTTP status
        ├── KeyConflict     and one more class for each code of docs/errors.md

Each carries its `code`, a sentence (`message`) and, where there is one, the next step (`hint`).
"""

from collections.abc import Mapping
from typing import Any

from upcall.domain.errors import UpcallError
from upcall.home.launch import DaemonFailed as DaemonFailed  # noqa: PLC0414 - offered here as well


class Unreachable(UpcallError):
    """No daemon answers at the address."""

    code = "unreachable"


class UnfitResponse(UpcallError):
    """What a person filled in does not make a value of the type that `response` names."""

    code = "unfit_response"


class RunFailed(UpcallError):
    """The server of an agent that a bridge runs, such as one of AG-UI, ended the run with an error, or cannot be reached."""

    code = "run_failed"


class Refused(UpcallError):
    """The daemon refused a request."""

    code = "refused"

    def __init__(self, message: str, *, hint: str | None = None, status: int = 0) -> None:
        super().__init__(message, hint=hint)
        self.status = status


class InvalidInquiry(Refused):
    """The question breaks a limit; nothing was stored."""

    code = "invalid_inquiry"


class InvalidRequest(Refused):
    """The request is not of the documented form."""

    code = "invalid_request"


class Unauthenticated(Refused):
    """No token, or one that is unknown or revoked."""

    code = "unauthenticated"


class NotAllowed(Refused):
    """The token's role does not permit this."""

    code = "not_allowed"


class UnknownAgent(Refused):
    """The caller named an agent that it is not."""

    code = "unknown_agent"


class ForeignOrigin(Refused):
    """A page of another site made the request."""

    code = "foreign_origin"


class LinkRevoked(Refused):
    """The answer link belongs to a person who may not answer any more."""

    code = "link_revoked"


class UnknownInquiry(Refused):
    """No inquiry has that id or ref, or it is another agent's."""

    code = "unknown_inquiry"


class UnknownProgram(Refused):
    """No agent has that name."""

    code = "unknown_program"


class UnknownRun(Refused):
    """No run has that number, or it is not the agent's own."""

    code = "unknown_run"


class UnknownThread(Refused):
    """No thread has that name, or it is another agent's."""

    code = "unknown_thread"


class UnknownRule(Refused):
    """No remembered rule has that id."""

    code = "unknown_rule"


class UnknownPerson(Refused):
    """No person of that name may answer in channels."""

    code = "unknown_person"


class UnknownChannel(Refused):
    """No channel of that name is set up."""

    code = "unknown_channel"


class UnknownToken(Refused):
    """No token has that name."""

    code = "unknown_token"


class UnknownLink(Refused):
    """The answer link is none of ours, or its question is forgotten."""

    code = "unknown_link"


class NotFound(Refused):
    """Nothing lives at that path, or there is no such attachment."""

    code = "not_found"


class MethodNotAllowed(Refused):
    """The path exists, but not for that method."""

    code = "method_not_allowed"


class KeyConflict(Refused):
    """The request key was used for something else."""

    code = "key_conflict"


class RunConflict(Refused):
    """The run is not in a state for this: over already, or still at work."""

    code = "run_conflict"


class PromptPending(Refused):
    """A question is open in the thread, and comes first."""

    code = "prompt_pending"


class NotItsTurn(Refused):
    """Another question of the thread comes first."""

    code = "not_its_turn"


class QuestionNotAlone(Refused):
    """A question beside other tool calls, with `threads.standalone`."""

    code = "question_not_alone"


class NoApprovalNeeded(Refused):
    """The thread is autonomous: its actions need no approval."""

    code = "no_approval_needed"


class LinkExpired(Refused):
    """The answer link is older than seven days."""

    code = "link_expired"


class LinkUsed(Refused):
    """The answer link has been used; each is good for one answer."""

    code = "link_used"


class TooLarge(Refused):
    """The body is larger than is taken in."""

    code = "too_large"


class ForeignHost(Refused):
    """The request is addressed to a name that is not the daemon's."""

    code = "foreign_host"


class EmptyAnswer(Refused):
    """Nothing but white space."""

    code = "empty_answer"


class PackageMissing(Refused):
    """A run takes a Python package that is not installed where the daemon runs, such as that of the extra `acp`."""

    code = "package_missing"


class NotYourDecision(Refused):
    """Another person decided this, and alone can undo it."""

    code = "not_your_decision"


class UnusableFile(Refused):
    """An agent's settings cannot be read or changed by `upcall setup`; they are left alone."""

    code = "unusable_file"


class NoteUnread(Refused):
    """A note beside a yes, to a permission prompt of the agent's program, which takes a yes or a no."""

    code = "note_unread"


class NotEditable(Refused):
    """An action that a person cannot edit, or not like this."""

    code = "not_editable"


class EditDenied(Refused):
    """An edited action that a person has denied before, in the same turn of its session."""

    code = "edit_denied"


class UnfitAnswer(Refused):
    """Fields of a form that do not fit."""

    code = "unfit_answer"


class UnreadableAnswer(Refused):
    """None of the choices, and free text is not allowed."""

    code = "unreadable_answer"


class ProgramMissing(Refused):
    """The agent's program is not installed, or not on the PATH of the run."""

    code = "program_missing"


class ProgramUnfit(Refused):
    """The agent's program is there, in a version that does not work."""

    code = "program_unfit"


class RateLimited(Refused):
    """Too many asks in too short a time, or the same approval again and again."""

    code = "rate_limited"


class Internal(Refused):
    """A fault of ours."""

    code = "internal"


class InvalidSetting(Refused):
    """A setting cannot be used."""

    code = "invalid_setting"


class StorageError(Refused):
    """The database could not keep or read something."""

    code = "storage_error"


class LostDatabase(Refused):
    """The database that was there before is missing or empty."""

    code = "lost_database"


class NewerDatabase(Refused):
    """A later Upcall has written the database."""

    code = "newer_database"


class StorageFull(Refused):
    """No room is left where the database lives."""

    code = "storage_full"


class CannotTell(Refused):
    """The agent that asked takes no messages: it is no run with a session, and has no thread."""

    code = "cannot_tell"


class NotAnswered(Refused):
    """There is no answer that could be corrected."""

    code = "not_answered"


def refusal(status: int, document: Any) -> Refused:
    """The exception for an error reply."""
    error: Mapping[str, Any] | None = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict):
        return Refused(f"the daemon replied with status {status}", status=status)
    kind = BY_CODE.get(str(error.get("code")), Refused)
    return kind(str(error.get("message") or f"status {status}"), hint=error.get("hint"), status=status)


BY_CODE = {kind.code: kind for kind in Refused.__subclasses__()}
"""The class of each code that a daemon replies with. A daemon that is newer may have others, which are `Refused`."""
