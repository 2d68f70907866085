"""`codex exec`: Codex works on its own, asks questions through our tool, and never for permission.

Its commands can write in the working directory and nowhere else; the arguments of a task can change that.
"""

from collections.abc import Iterator

from upcall.agents.codex.items import (
    Json,
    called,
    failed,
    fields_in,
    is_declined,
    parsed,
    returned,
    said,
    steps_in,
    text_in,
)
from upcall.agents.codex.settings import setting, settings_for
from upcall.agents.prompt import advice_of, with_advice
from upcall.domain.run.program import (
    ActionRefused,
    Command,
    Finished,
    Noticed,
    Session,
    SessionSeen,
    Spent,
    Task,
    TurnTaken,
    Unreadable,
)


def start(program: str, task: Task) -> Command:
    """Begin a task. Its words go to standard input, where they can be of any length."""
    return _command(program, task, (), with_advice(task.prompt, advice_of(task.door)))


def resume(program: str, session: Session, message: str) -> Command:
    """Take a session up again; the flags stand before the subcommand, which does not know all of them itself."""
    return _command(program, session, ("resume", session.id), message)


def _command(program: str, told: Task | Session, subcommand: tuple[str, ...], words: str) -> Command:
    return Command(
        argv=(
            *(program, "exec", "--json", "--skip-git-repo-check"),
            *settings_for(told.door),
            *setting("approval_policy", '"never"'),
            *told.arguments,
            *subcommand,
            "-",
        ),
        cwd=told.cwd,
        environment=dict(told.door.environment),
        stdin=words,
    )


class ExecReader:
    """Reads the events of one process.

    It does not say when the model has spoken: each message counts, and each call that no other was waiting beside.
    """

    def __init__(self) -> None:
        self._calls: set[str] = set()
        self._last_words = ""

    def notice(self, line: str) -> Iterator[Noticed]:
        """What a line tells."""
        if not line.strip():
            return
        event = parsed(line)
        if event is None:
            yield Unreadable(line=line)
            return
        item = fields_in(event.get("item"))
        match event.get("type"):
            case "thread.started":
                if session := text_in(event.get("thread_id")):
                    yield SessionSeen(id=session)
            case "item.started":
                yield from self._begun(item)
            case "item.completed":
                yield from self._done(item)
            case "item.updated":
                yield from _steps(item)
            case "turn.completed":
                yield from _spent(fields_in(event.get("usage")))
                yield Finished(ok=True, text=self._last_words)
            case "turn.failed":
                yield failed(event.get("error"), self._last_words)
            case _:
                pass

    def _begun(self, item: Json) -> Iterator[Noticed]:
        yield from _steps(item)
        call = called(item)
        if call is None or call.id in self._calls:
            return
        if not self._calls:
            yield TurnTaken()
        self._calls.add(call.id)
        yield call

    def _done(self, item: Json) -> Iterator[Noticed]:
        if words := said(item):
            self._last_words = words.text
            yield TurnTaken()
            yield words
        if (result := returned(item)) is None:
            return
        yield from self._begun(item)
        self._calls.discard(result.id)
        yield result
        call = called(item)
        if call is not None and is_declined(item):
            yield ActionRefused(tool=call.name, reason=result.text)


def _steps(item: Json) -> Iterator[Noticed]:
    if plan := steps_in(item):
        yield plan


def _spent(usage: Json) -> Iterator[Noticed]:
    put_in, put_out = _count(usage.get("input_tokens")), _count(usage.get("output_tokens"))
    if put_in is not None or put_out is not None:
        yield Spent(input_tokens=put_in, output_tokens=put_out)


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
