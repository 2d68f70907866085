"""`opencode run`: one prompt, read from its stream. It takes no answers, so it is for runs that ask no permission."""

from collections.abc import Iterable, Iterator

from upcall.agents.opencode.parts import Json, Parts, failure, loaded, mapping, text, words
from upcall.domain.run.program import Finished, Noticed, SessionSeen, Unreadable

GOES_ON = "tool-calls"
"""How a step ends after which the model is asked again."""
UNFINISHED = ("length", "content-filter", "error")


def arguments(more: tuple[str, ...], session: str | None) -> tuple[str, ...]:
    """What follows the program's name. The prompt goes to standard input: of arguments, opencode quotes the blanks."""
    which = () if session is None else ("--session", session)
    return ("run", *more, "--format", "json", "--auto", *which)


class RunReader:
    """Reads the stream of one process."""

    def __init__(self) -> None:
        self._parts = Parts()
        self._session = ""
        self._said = ""

    def notice(self, line: str) -> Iterable[Noticed]:
        """What a line tells."""
        if not line.strip():
            return []
        event = loaded(line)
        return [Unreadable(line=line)] if event is None else list(self._event(event))

    def _event(self, event: Json) -> Iterator[Noticed]:
        session, part = text(event.get("sessionID")), mapping(event.get("part"))
        if session and not self._session:
            self._session = session
            yield SessionSeen(id=session)
        if event.get("type") == "error":
            message, reason = failure(event.get("error"))
            yield Finished(ok=False, text=message, reason=reason)
            return
        self._said = words(part) or self._said
        yield from self._parts.notice(part)
        ending = text(part.get("reason")) if part.get("type") == "step-finish" else ""
        if ending and ending != GOES_ON:
            ok = ending not in UNFINISHED
            yield Finished(ok=ok, text=self._said, reason="" if ok else ending)
