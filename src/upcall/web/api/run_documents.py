"""Runs as the JSON that is sent."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from upcall.broker.broker import Broker
from upcall.domain.document import Document, timestamp
from upcall.domain.run.program import Command
from upcall.domain.run.run import Run
from upcall.http.body import Json
from upcall.ports.paging import each_inquiry
from upcall.ports.runs import LogPage, RunPage
from upcall.ports.store import Query


class RunDocuments:
    """Writes runs, each with the questions of it that wait for an answer."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def one(self, run: Run, status: int = 200) -> Json:
        """A run."""
        (written,) = await self._written([run])
        return Json(written, status)

    async def page(self, page: RunPage) -> Json:
        """A page of runs."""
        return Json({"items": await self._written(page.items), "next": page.next})

    async def _written(self, runs: Sequence[Run]) -> list[Document]:
        # One run is read by the index of its inquiries, however many others are open.
        only = runs[0].number if len(runs) == 1 else None
        waiting = await self._open_refs(only) if runs else {}
        return [run_document(run, waiting.get(run.number, [])) for run in runs]

    async def _open_refs(self, run: int | None) -> Mapping[int, list[str]]:
        """The refs of open inquiries, of one run or of all, by the number of their run, the longest open first."""
        found: defaultdict[int, list[str]] = defaultdict(list)
        async for inquiry in each_inquiry(self._broker.store, Query(state="open", run=run)):
            if inquiry.origin.run is not None:
                found[inquiry.origin.run].append(inquiry.ref)
        return found


def run_document(run: Run, inquiries: Sequence[str]) -> Document:
    """A run as others see it: the names here are relied upon and do not change."""
    return {
        "number": run.number,
        "agent": run.agent,
        "task": run.task,
        "cwd": run.cwd,
        "state": run.state.value,
        "reason": run.reason,
        "result": run.result,
        "session": run.session,
        "permission": run.permission.value,
        "arguments": list(run.arguments),
        "by": run.by,
        "runner": run.runner,
        "turns": run.turns,
        "tool": run.tool,
        "cost": run.cost,
        "tokens": {"input": run.input_tokens, "output": run.output_tokens},
        "created_at": timestamp(run.created_at),
        "started_at": _moment(run.started_at),
        "ended_at": _moment(run.ended_at),
        "exit_code": run.exit_code,
        "inquiries": list(inquiries),
        "retry_of": run.retry_of,
        "next_try": _moment(run.next_try),
    }


def log_document(page: LogPage) -> Document:
    """Some of a run's log, and where to go on."""
    return {
        "lines": [{"at": line.at, "kind": line.kind, "text": line.text} for line in page.lines],
        "next_after": page.next_after,
        "over": page.over,
    }


def command_document(command: Command) -> Document:
    """A process for the caller to start."""
    return {"argv": list(command.argv), "cwd": command.cwd, "environment": dict(command.environment)}


def _moment(at: float | None) -> str | None:
    return None if at is None else timestamp(at)
