"""One supervised piece of work of an agent: its states, and what may follow what.

A run outlives its processes: when an answer brings a session back, the run that waited for it goes on.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from upcall.domain.records import Effects, Happening, Record
from upcall.domain.roles import Caller, Role
from upcall.domain.run.api_errors import next_try
from upcall.domain.run.program import (
    Asked,
    Deferred,
    Finished,
    LastWords,
    Noticed,
    Permission,
    SessionSeen,
    Spent,
    ToolCalled,
    ToolReturned,
    TurnTaken,
)

KIND = "run"


class RunState(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting_input"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({RunState.COMPLETED, RunState.FAILED, RunState.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A request for a run; `environment` is that of the requester's shell, None for the daemon's own.

    The same `request_key` again means the same run, so that a request can be repeated when its reply was lost.
    """

    agent: str
    task: str
    cwd: str
    permission: Permission | None = None
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    retry_of: int | None = None
    request_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A task, who works on it, and how far it is.

    `starts` counts processes, and is the fence of the newest; `alive` says whether one of them is thought to run.
    `session` is the program's own id as soon as it told it. `deferred` is the call that waits for a decision.
    `read` is how much of the output has been counted, and `words` what its latest process has said up to there. Cost and
    tokens are of all processes together. `messages` are for its next turn, `saying` is what its latest process was told of them, and `ending` is who wants it to end.
    `refusals` counts processes in a row that the service of the model has refused, the last of them at `refused_at`.
    """

    number: int
    agent: str
    task: str
    cwd: str
    by: str
    runner: str
    created_at: float
    permission: Permission = Permission.APPROVAL
    arguments: tuple[str, ...] = ()
    token: str = ""
    retry_of: int | None = None
    state: RunState = RunState.QUEUED
    reason: str = ""
    result: str = ""
    session: str = ""
    starts: int = 0
    alive: bool = False
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    deferred: str = ""
    turns: int = 0
    tool: str = ""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    read: int = 0
    words: LastWords = field(default_factory=LastWords)
    messages: tuple[str, ...] = ()
    saying: tuple[str, ...] = ()
    ending: str = ""
    refusals: int = 0
    refused_at: float | None = None

    @property
    def caller(self) -> Caller:
        """The caller that a run asks as."""
        autonomous = self.permission is Permission.AUTONOMOUS
        return Caller(
            name=self.agent, role=Role.AGENT, run=self.number, runner=self.runner, autonomous=autonomous
        )

    @property
    def next_try(self) -> float | None:
        """When the service of the model is tried again, if that is what an answer for this run waits for."""
        if self.state is not RunState.WAITING or self.alive or self.refused_at is None:
            return None
        return next_try(self.refusals, self.refused_at)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come of it by itself."""
        return self.state in ENDED


def run_in(record: Record) -> Run:
    """The run that a record holds."""
    body: dict[str, Any] = dict(record.body)
    body["permission"] = Permission(body["permission"])
    body["state"] = RunState(record.state)
    for name in ("arguments", "messages", "saying"):
        body[name] = tuple(body.get(name, ()))
    body["words"] = _words_in(body.get("words") or {})
    return Run(**body)


def _words_in(body: Mapping[str, Any]) -> LastWords:
    finished, deferred, asked = (body.get(name) for name in ("finished", "deferred", "asked"))
    return LastWords(
        finished=None if finished is None else Finished(**finished),
        deferred=None if deferred is None else Deferred(**deferred),
        asked=None if asked is None else Asked(**asked),
    )


def record_of(run: Run) -> Record:
    """The record that holds a run. Lists are sorted by number, which is the order of starting."""
    return Record(
        kind=KIND, key=str(run.number), state=run.state.value, at=float(run.number), body=asdict(run)
    )


def became(run: Run, event: str, now: float, more: Mapping[str, object] | None = None) -> Effects:
    """Keep a run as it is now, and say in the log what happened to it."""
    data: dict[str, object] = {
        "run": run.number,
        "agent": run.agent,
        "state": run.state.value,
        **(more or {}),
    }
    return Effects(records=(record_of(run),), happenings=(Happening(type=event, at=now, data=data),))


def noted(run: Run, noticed: Noticed) -> Run:
    """A run after its program was seen to do something."""
    match noticed:
        case SessionSeen(id=session):
            return replace(run, session=session)
        case TurnTaken():
            return replace(run, turns=run.turns + 1, refusals=0, refused_at=None)
        case ToolCalled(name=name):
            return replace(run, tool=name)
        case ToolReturned():
            return replace(run, tool="")
        case Spent(cost=cost, input_tokens=put_in, output_tokens=put_out):
            return replace(
                run,
                cost=_sum(run.cost, cost),
                input_tokens=_sum(run.input_tokens, put_in),
                output_tokens=_sum(run.output_tokens, put_out),
            )
        case Finished():
            return replace(run, words=replace(run.words, finished=noticed))
        case Deferred():
            return replace(run, words=replace(run.words, deferred=noticed))
        case Asked() if run.words.asked is None:
            return replace(run, words=replace(run.words, asked=noticed))
        case _:
            return run


def _sum(total: Any, more: Any) -> Any:
    return total if more is None else more + (total or 0)
