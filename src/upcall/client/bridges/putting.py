"""What bridges share: a client of the program's or one of their own, keys from call ids, and words for what was decided."""

import hashlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import anyio

from upcall.client.client import Client
from upcall.client.outcome import Allowed, Answered, Denied, Outcome, Parked, Rejected, Verdict, verdict
from upcall.client.request import Waiting


@asynccontextmanager
async def connected(client: Client | None) -> AsyncIterator[Client]:
    """The program's client, or one that finds the daemon as the commands do."""
    if client is not None:
        yield client
        return
    async with Client() as own:
        yield own


def call_key(framework: str, *ids: str) -> str:
    """The key of a call: the same call has the same one in the process that is started after this one.

    Without an id it is empty, since all such calls would have the same key.

    >>> call_key("claude", "toolu_17")
    'claude-toolu_17'
    >>> call_key("claude", "")
    ''
    """
    if not all(ids):
        return ""
    key = "-".join((framework, *ids))
    return key if len(key) <= 120 else f"{framework}-{hashlib.sha256(key.encode()).hexdigest()}"


class Occurrences:
    """Tells calls apart that a framework has no id for: how often the same one was met. Calls may come from several threads.

    >>> calls = Occurrences()
    >>> calls.number("make"), calls.number("make"), calls.number("make test")
    ('1', '2', '1')
    """

    def __init__(self) -> None:
        self._met = Counter[str]()
        self._lock = Lock()

    def number(self, call: str) -> str:
        """Which of the same calls this is, counted from 1. A program that makes them again counts the same."""
        with self._lock:
            self._met[call] += 1
            return str(self._met[call])


async def together(*calls: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run calls at the same time. An error of one ends the others, and is raised as itself, so that a program can catch it."""
    try:
        async with anyio.create_task_group() as tasks:
            for call in calls:
                tasks.start_soon(call)
    except BaseExceptionGroup as several:
        problem: BaseException = several
        while isinstance(problem, BaseExceptionGroup):
            problem = problem.exceptions[0]
        raise problem from problem.__cause__


def keyed(key: str, waiting: Waiting) -> Waiting:
    """How a call waits, with its own key. A call without one is a question of its own, which cannot be rejoined.

    Raises:
        TypeError: for a key of the program's: it would be that of every call, and yesterday's yes an answer to today's.
    """
    return {**without_key(waiting), "key": key} if key else without_key(waiting)


def without_key(waiting: Waiting) -> Waiting:
    """How a call waits. Raises as `keyed` does."""
    if "key" in waiting:
        raise TypeError("a bridge has no argument 'key': each call has its own")
    return waiting


class Call(NamedTuple):
    """A call of a tool that is put to a person. Its key is empty where the framework has no id for it."""

    key: str
    tool: str
    given: Mapping[str, Any]


async def decide_all(client: Client | None, calls: Sequence[Call], waiting: Waiting) -> list[Verdict]:
    """Put calls to a person together; returns when all of them are decided, in the order of the calls.

    Verdicts are not told apart by keys: calls without an id have none, and a yes to one would be a yes to the next.
    """
    decided: dict[int, Verdict] = {}

    async def put(broker: Client, number: int, call: Call) -> None:
        decided[number] = await broker.approve(call.tool, call.given, **keyed(call.key, waiting))

    async with connected(client) as broker:
        await together(*(partial(put, broker, number, call) for number, call in enumerate(calls)))
    return [decided[number] for number in range(len(calls))]


def is_open(decided: Verdict) -> bool:
    """Whether no person has decided yet."""
    return isinstance(decided.outcome, Parked)


def denial(decided: Denied) -> str:
    """A denial in a sentence for the model, with the name of the person."""
    return f"Denied by {decided.by}: {decided.reason}" if decided.by else f"Not allowed: {decided.reason}"


def consent(decided: Allowed) -> str:
    """A yes in words for the model, with what the person changed and wrote."""
    if decided.outcome is None:
        return "Allowed without asking"
    said = f"Approved by {decided.by}"
    answer = decided.outcome.inquiry["answer"]
    if (edit := answer.get("edit")) is not None:
        said += f", who changed it. What runs is not what you asked for:\n{edit['difference']}"
    return f"{said}\nTheir note: {decided.note}" if decided.note else said


def words(ended: Outcome[str]) -> str:
    """What came of a question, in words for the model."""
    match ended:
        case Answered():
            return f"{ended.text} ({ended.note})" if ended.note else ended.text
        case Rejected(reason=reason, by=by):
            return f"{by} declined to answer: {reason}" if reason else f"{by} declined to answer"
        case _:
            decided = verdict(ended, {})
            assert isinstance(decided, Denied)
            return f"There is no answer: {decided.reason}"
