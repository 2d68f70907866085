"""A run as a page shows it: the values that its templates draw, and nothing that has to be decided there."""

from collections.abc import Iterable
from dataclasses import dataclass

from upcall.domain.run.run import Run, RunState
from upcall.domain.text.display import one_line, visible
from upcall.ports.runs import LogLine, LogPage
from upcall.web.pages.colours import hue

LONGEST_LINE = 4000
MOST_LINES = 400
"""How much of a log a page holds; the rest is in the file that `upcall log` reads."""

TONES = {
    RunState.QUEUED: "idle",
    RunState.RUNNING: "busy",
    RunState.WAITING: "waiting",
    RunState.COMPLETED: "good",
    RunState.FAILED: "bad",
    RunState.CANCELLED: "idle",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """Everything that is shown of a run. `at` is when it came into the state that it is in, as far as is known."""

    number: int
    agent: str
    initial: str
    hue: int
    state: str
    tone: str
    title: str
    task: str
    folder: str
    folder_name: str
    by: str
    runner: str
    turns: int
    tool: str
    cost: str
    tokens: str
    at: float
    created_at: float
    ended_at: float | None
    reason: str
    result: str
    retry_of: int | None
    is_over: bool
    has_session: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRow:
    """One line of a log; `cut` says that it is longer than a page shows."""

    kind: str
    text: str
    cut: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The end of a log, and the place in it from which a page reads on."""

    rows: tuple[LogRow, ...]
    next_after: int


def run_view(run: Run) -> RunView:
    """A run as it stands now."""
    agent, folder = one_line(run.agent), one_line(run.cwd)
    return RunView(
        number=run.number,
        agent=agent,
        initial=agent[:1].upper(),
        hue=hue(run.agent),
        state=run.state.value,
        tone=TONES[run.state],
        title=one_line(run.task, 140),
        task=visible(run.task),
        folder=folder,
        folder_name=folder.rstrip("/").rpartition("/")[2],
        by=one_line(run.by, 60),
        runner=one_line(run.runner, 60),
        turns=run.turns,
        tool=one_line(run.tool, 60),
        cost="" if run.cost is None else f"${run.cost:.2f}",
        tokens=_grouped((run.input_tokens or 0) + (run.output_tokens or 0)),
        at=run.ended_at or run.started_at or run.created_at,
        created_at=run.created_at,
        ended_at=run.ended_at,
        reason=visible(run.reason),
        result=visible(run.result),
        retry_of=run.retry_of,
        is_over=run.is_over,
        has_session=run.session != "",
    )


def log_tail(page: LogPage) -> LogTail:
    """The last lines of what was read."""
    return LogTail(rows=tuple(_rows(page.lines[-MOST_LINES:])), next_after=page.next_after)


def _rows(lines: Iterable[LogLine]) -> Iterable[LogRow]:
    for line in lines:
        yield LogRow(
            kind=line.kind, text=visible(line.text[:LONGEST_LINE]), cut=len(line.text) > LONGEST_LINE
        )


def _grouped(count: int) -> str:
    """A number in groups of three with narrow spaces, which no language reads as a decimal point; nothing for none."""
    return f"{count:,}".replace(",", "\N{NARROW NO-BREAK SPACE}") if count else ""
