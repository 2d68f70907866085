"""What Codex's app server tells about a thread, noticed once, however often a new connection hears it again."""

from collections.abc import Iterator

from upcall.agents.codex.items import (
    Json,
    called,
    failed,
    fields_in,
    list_in,
    plan_of,
    returned,
    said,
    text_in,
)
from upcall.domain.run.program import Finished, Noticed, Spent, ToolCalled, ToolReturned, TurnTaken


class AppReader:
    """Follows one process of the app server, through all connections to it.

    The server tells what a thread has used in total, and tells it again after a resume: only what is added afterwards
    is news. `changes` are the file changes that were proposed, by the id of their item.
    """

    def __init__(self) -> None:
        self.changes: dict[str, list[object]] = {}
        self._totals: dict[str, tuple[int, int]] = {}
        self._followed: set[str] = set()
        self._resumed: set[str] = set()
        self._open: set[str] = set()
        self._last_words = ""

    def follow(self, thread: str, *, resumed: bool) -> None:
        """From here on a thread is followed, which may have had a past without us."""
        if resumed and thread not in self._followed:
            self._resumed.add(thread)
        self._followed.add(thread)

    def notice(self, method: str, params: Json) -> Iterator[Noticed]:
        """What a notification tells."""
        item = fields_in(params.get("item"))
        match method:
            case "item/started":
                if item.get("type") == "fileChange":
                    self.changes[text_in(item.get("id"))] = list_in(item.get("changes"))
                if call := called(item):
                    yield from self.begin(call)
            case "item/completed":
                yield from self._done(item)
            case "turn/plan/updated":
                if plan := plan_of(params):
                    yield plan
            case "turn/started":
                self._resumed.discard(text_in(params.get("threadId")))
            case "thread/tokenUsage/updated":
                yield from self._spent(params)
            case _:
                pass

    def begin(self, call: ToolCalled) -> Iterator[Noticed]:
        """A call, unless it is known."""
        if call.id not in self._open:
            self._open.add(call.id)
            yield call

    def end(self, result: ToolReturned) -> Iterator[Noticed]:
        """What came of a call, unless that is known."""
        if result.id in self._open:
            self._open.discard(result.id)
            self.changes.pop(result.id, None)
            yield result

    def missed(self, turn: Json) -> Iterator[Noticed]:
        """The results of a turn's calls that came while no connection was open: evidence, though no news to count."""
        for item in list_in(turn.get("items")):
            if result := returned(fields_in(item)):
                yield result

    def finished(self, turn: Json) -> Finished:
        """How a turn ended."""
        for item in list_in(turn.get("items")):
            if words := said(fields_in(item)):
                self._last_words = words.text
        match turn.get("status"):
            case "completed":
                return Finished(ok=True, text=self._last_words)
            case "failed":
                return failed(turn.get("error"), self._last_words)
            case _:
                return Finished(ok=False, text=self._last_words, reason="interrupted")

    def _done(self, item: Json) -> Iterator[Noticed]:
        if words := said(item):
            self._last_words = words.text
            yield words
        if result := returned(item):
            # A call that began before we were there is made known now.
            if call := called(item):
                yield from self.begin(call)
            yield from self.end(result)

    def _spent(self, params: Json) -> Iterator[Noticed]:
        thread = text_in(params.get("threadId"))
        total = fields_in(fields_in(params.get("tokenUsage")).get("total"))
        now = (_count(total.get("inputTokens")), _count(total.get("outputTokens")))
        before = self._totals.get(thread, now if thread in self._resumed else (0, 0))
        self._totals[thread] = now
        put_in, put_out = now[0] - before[0], now[1] - before[1]
        if put_in > 0 or put_out > 0:
            yield TurnTaken()
            yield Spent(input_tokens=max(put_in, 0), output_tokens=max(put_out, 0))


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
