"""What a program asks, and the body of the request that it becomes."""

import base64
import mimetypes
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, TypedDict

from upcall.client.errors import InvalidRequest
from upcall.client.folder import current_folder
from upcall.client.outcome import Inquiry
from upcall.domain.errors import UpcallError

Span = float | str | timedelta
"""Seconds, text like `90s`, `10m`, `24h`, or a `timedelta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A suggested answer.

    >>> Option(label="Redis", description="has pub/sub", recommended=True).label
    'Redis'
    """

    label: str
    """What the answer says where this option is chosen."""

    description: str = ""
    preview: str | None = None
    """Markdown or code that is shown beside the option."""

    recommended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One of up to four questions that are asked together.

    >>> Question(question="Which checks?", options=["lint", "tests"], multi=True).multi
    True
    """

    question: str
    options: Sequence[str | Option] = ()
    header: str = ""
    multi: bool = False
    """Whether several options can be chosen."""

    custom: bool = True
    """Whether a person may write something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Bytes under a name, shown beside the question. A path can be given instead of one."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the `progress` callback is told while a question is open."""

    stage: Literal["asked", "waiting", "reconnecting"]
    """`asked` once, `waiting` about twice a minute, `reconnecting` when the daemon cannot be reached."""

    inquiry: Inquiry
    waited: float
    """Seconds since the question was asked."""


class Waiting(TypedDict, total=False):
    """How a call waits, and to which question it belongs. All of it can be left out."""

    key: str
    """Asking again with the same key rejoins the question and gets its stored answer, also from another process."""

    timeout: Span
    """How long this call waits before it returns `Parked`; without it, until the question is settled."""

    ttl: Span
    """How long the question can be answered; the daemon's setting (24 hours) unless given."""

    on_cancel: Literal["withdraw", "leave"]
    """What cancelling the task does to the question. Unless given, one with a key stays open, since it can be rejoined,
    and one without a key is withdrawn."""

    progress: Callable[[Progress], Awaitable[None] | None]
    session: str
    """The session that asks, where one token serves several."""

    thread: str
    workspace: str
    """The folder that the question is about; the current one unless given."""


class Approving(Waiting, total=False):
    """What can be said with an action. All of it can be left out."""

    cwd: str | os.PathLike[str]
    """Where the action would happen; the current folder unless given."""

    reason: str
    """Why the program wants it, in its own words."""

    editable: bool
    """Whether the program runs the `input` of the verdict where a person edited it, as it does unless given. Otherwise an edit
    is a denial that suggests it."""


class Asking(Waiting, total=False):
    """What can be said with a question besides its words. All of it can be left out."""

    options: Sequence[str | Option]
    header: str
    multi: bool
    custom: bool
    context: str
    """Markdown: what a person needs to know for the decision."""

    plan: str
    """A plan as Markdown, instead of a context and options: a person approves it, sends it back with comments, or rejects it."""

    attach: Sequence[str | os.PathLike[str] | Attachment]
    default: str
    """The label that is the answer when the ttl ends without one. Without a default, silence is no answer."""

    labels: Sequence[str]
    secret: bool
    """Keeps the answer out of logs, lists and notifications."""


def question_body(question: str | Sequence[Question], asking: Mapping[str, Any]) -> dict[str, Any]:
    """The body that asks a question, or several.

    Raises:
        TypeError: for an argument that there is not.
    """
    _check(asking, Asking)
    body = _common(asking)
    if isinstance(question, str):
        body["question"] = question
        if "options" in asking:
            body["options"] = [_option(each) for each in asking["options"]]
        for name, sent in (("header", "header"), ("multi", "multiSelect"), ("custom", "custom")):
            if name in asking:
                body[sent] = asking[name]
    else:
        body["questions"] = [_question(each) for each in question]
    for name in ("context", "default", "secret"):
        if name in asking:
            body[name] = asking[name]
    if "plan" in asking:
        body |= {"kind": "plan", "context": asking["plan"]}
    if "labels" in asking:
        body["labels"] = list(asking["labels"])
    if "attach" in asking:
        body["attachments"] = [_upload(each) for each in asking["attach"]]
    return body


def action_body(tool: str, given: Mapping[str, Any], approving: Mapping[str, Any]) -> dict[str, Any]:
    """The body that asks for the approval of an action.

    Raises:
        TypeError: for an argument that there is not.
    """
    _check(approving, Approving)
    # No link is followed: the folder is shown as the program knows it.
    folder = os.path.abspath(approving.get("cwd", "."))  # noqa: PTH100
    action: dict[str, Any] = {"tool": tool, "input": dict(given), "cwd": folder}
    action |= {"reason": approving.get("reason", ""), "editable": approving.get("editable", True)}
    return _common(approving) | {"action": action}


def seconds(span: Span) -> float:
    """A span of time in seconds; 0 is one too.

    >>> seconds("10m"), seconds(2), seconds(timedelta(hours=1))
    (600.0, 2.0, 3600.0)

    Raises:
        InvalidRequest: if it is none.
    """
    if isinstance(span, timedelta):
        return span.total_seconds()
    if isinstance(span, int | float):
        return float(span)
    # Most programs give numbers, and this loads what an inquiry is.
    from upcall.domain.inquiry.wording import duration  # noqa: PLC0415

    try:
        return duration(span)
    except UpcallError as wrong:
        raise InvalidRequest(wrong.message, hint=wrong.hint) from None


def _check(given: Mapping[str, Any], known: type) -> None:
    unknown = sorted(given.keys() - known.__annotations__.keys())
    if unknown:
        raise TypeError(f"there is no argument {unknown[0]!r}; there are {', '.join(known.__annotations__)}")


def _common(waiting: Mapping[str, Any]) -> dict[str, Any]:
    # Without a key of the program's own, this one makes a request that has to be repeated the same question.
    body = {"request_key": waiting.get("key") or f"program-{os.urandom(16).hex()}"}
    for name in ("session", "thread"):
        if name in waiting:
            body[name] = waiting[name]
    workspace = waiting["workspace"] if "workspace" in waiting else current_folder()
    if workspace is not None:
        body["workspace"] = workspace
    if "ttl" in waiting:
        ttl = waiting["ttl"]
        body["ttl"] = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    return body


def _question(question: Question) -> dict[str, Any]:
    return {
        "question": question.question,
        "options": [_option(each) for each in question.options],
        "header": question.header,
        "multiSelect": question.multi,
        "custom": question.custom,
    }


def _option(option: str | Option) -> str | dict[str, Any]:
    if isinstance(option, str):
        return option
    shown: dict[str, Any] = {"label": option.label, "description": option.description}
    if option.recommended:
        shown["recommended"] = True
    if option.preview is not None:
        shown["preview"] = option.preview
    return shown


def _upload(file: str | os.PathLike[str] | Attachment) -> dict[str, str]:
    if not isinstance(file, Attachment):
        file = Attachment(name=Path(file).name, content=Path(file).read_bytes())
    guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return {"name": file.name, "media_type": guessed, "data": base64.b64encode(file.content).decode()}
