"""What every adapter for an agent's program must do, as a pytest class for the authors of adapters.

    class TestMyAgent(AgentContract):
        sample = ('{"type": "init", "session": "s-1"}', …)
        …

        def agent(self):
            return MyAgent()

`sample` is what the program wrote in one process, line by line: it names `session`, the model takes a turn and calls a
tool, the tool's result contains `answer`, something is spent, and it ends well. Take it from the real program. What a
program never tells is left out of `tells`. Where a driver does the talking, the door and the words reach the program
through it, and only the process itself is looked at here.

Needs hypothesis. For readable failures, say `pytest.register_assert_rewrite("upcall.testing.agent_contract")` in a
conftest.
"""

import json
import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, ClassVar

import pytest
from hypothesis import example, given, strategies as st

from upcall.domain.errors import InvalidRequest
from upcall.domain.run.program import (
    Command,
    Finished,
    Noticed,
    Permission,
    Said,
    Session,
    SessionSeen,
    Spent,
    Task,
    ToolCalled,
    ToolReturned,
    TurnTaken,
)
from upcall.ports.agent import Agent, Reader
from upcall.testing.agent_examples import CWD, DOOR, SESSION, TOKEN, a_session, a_task

__all__ = [
    "CWD",
    "DOOR",
    "SESSION",
    "TOKEN",
    "AgentContract",
    "AgentHarness",
    "CommandContract",
    "ReaderContract",
    "a_session",
    "a_task",
    "read",
    "says",
    "told",
]

WORDS = (
    'Fix the "users" table, it\'s $(broken) `now` \\ & 100 %',
    "First line\nsecond line\n\n\tindented\n",
    "--help is not a flag here",
    "{task} {session} {0} {{}}",
    "Grüße 👋",
    "long " * 20_000,
)
SHELLS = {"sh", "bash", "dash", "zsh", "fish", "ksh", "cmd", "cmd.exe", "powershell", "pwsh"}
ARGUMENT_BYTES = 128 * 1024 - 1
"""The longest argument on Linux."""

HOSTILE = (
    "",
    "\0",
    "\ud800",
    "not JSON",
    "null",
    "[]",
    "{}",
    '{"type": null}',
    '{"type": {"type": []}}',
    "[" * 100_000,
    '{"type": ' * 20_000,
    '{"type": ' + "1" * 5000 + "}",
    '{"type": NaN, "n": 1e999, "m": -Infinity}',
    '"' + "x" * 2_000_000 + '"',
)

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def told(command: Command) -> str:
    """Everything that a command gives to its program."""
    return "\n".join((*command.argv, *handed(command), command.stdin))


def handed(command: Command) -> Iterable[str]:
    """Everything that a program gets beside its arguments and its input."""
    yield from command.environment.values()
    yield from command.files.values()


def says(command: Command, words: str) -> bool:
    """Whether these words reach the program whole, as they are or inside JSON."""
    forms = {words, json.dumps(words)[1:-1], json.dumps(words, ensure_ascii=False)[1:-1]}
    return any(form in place for form in forms for place in (*command.argv, *handed(command), command.stdin))


def read(reader: Reader, lines: Iterable[str]) -> list[Noticed]:
    """Everything that a reader notices in these lines."""
    return [noticed for line in lines for noticed in reader.notice(line)]


class AgentHarness:
    """Describes the adapter under test."""

    speaks_mcp: ClassVar[bool] = True
    """Whether it is given our door as an MCP server; otherwise in its environment alone."""
    freedoms: ClassVar[tuple[str, ...]] = ()
    """Flags, or values in its settings, that only an autonomous start may have."""
    writes: ClassVar[tuple[str, ...]] = ()
    """Files that it may write into the working directory."""
    deferral: ClassVar[bool] = False
    """Whether the program can end with a call deferred, and is then resumed without a message."""
    attachable: ClassVar[bool] = True
    """Whether a person can take a session over in a terminal."""
    good_version: ClassVar[str] = "1.0.0"
    bad_version: ClassVar[str | None] = None
    """The output of `--version` of an unfit program; None where each version is fit."""
    sample: ClassVar[tuple[str, ...]] = ()
    session: ClassVar[str] = ""
    """The session's id in the sample."""
    answer: ClassVar[str] = "The user answered: Redis"
    """A part of a tool's result in the sample."""
    failing: ClassVar[tuple[str, ...]] = ()
    """Lines of a process that failed."""
    tells: ClassVar[tuple[type[Noticed], ...]] = (
        SessionSeen,
        TurnTaken,
        ToolCalled,
        ToolReturned,
        Spent,
        Finished,
    )

    def agent(self) -> Agent:
        """The adapter under test."""
        raise NotImplementedError

    def is_driven(self, told: Task | Session, message: str | None = None) -> bool:
        """Whether the words go through a driver."""
        return self.agent().driver(told, message) is not None

    def every_command(self) -> Iterable[Command]:
        """A start and a resume in each mode, and an attach where there is one."""
        for permission in Permission:
            yield self.agent().start(a_task(permission=permission))
            yield self.agent().resume(a_session(permission=permission), "Go on")
        if self.attachable:
            yield self.agent().attach(a_session())


class CommandContract(AgentHarness):
    """How the program is started and resumed."""

    def test_it_says_what_it_is_and_how_to_get_it(self) -> None:
        """For the list of agents, and for people who do not have the program."""
        assert self.agent().name
        assert self.agent().program()
        assert self.agent().install_hint

    def test_starting_is_only_described(self) -> None:
        """The same task gives the same command, however often."""
        assert self.agent().start(a_task()) == self.agent().start(a_task())

    def test_the_program_is_started_by_itself_where_the_work_is(self) -> None:
        """Without a shell, and in the directory of the task."""
        for command in self.every_command():
            assert PurePath(command.argv[0]).name.lower() not in SHELLS
            assert command.cwd == CWD
        assert self.agent().start(a_task()).argv[0] == self.agent().program()

    def test_nothing_of_the_users_is_touched(self) -> None:
        """Files are written only where the author says so, and inside the working directory."""
        for command in self.every_command():
            assert set(command.files) <= set(self.writes)
            assert not any(
                PurePath(name).is_absolute() or ".." in PurePath(name).parts for name in command.files
            )

    def test_the_token_is_in_no_list_of_processes_and_in_no_file(self) -> None:
        """Every user of the machine can read arguments, and files end up in repositories."""
        for command in self.every_command():
            assert not any(TOKEN in each for each in command.argv)
            assert not any(TOKEN in text for text in command.files.values())

    def test_the_door_is_in_the_programs_hands(self) -> None:
        """Its command, its environment, and the patience for a long wait."""
        for permission in Permission:
            for command in self._undriven(permission):
                everything = told(command)
                for name, value in DOOR.environment.items():
                    assert name in everything or name in command.environment
                    assert value in everything
                assert any(TOKEN in value for value in command.environment.values())
                if self.speaks_mcp:
                    assert all(part in everything for part in DOOR.command)
                    numbers = [int(number) for number in re.findall(r"\d{5,15}", everything)]
                    assert any(
                        1 <= number / unit / DOOR.wait <= 1.2 for number in numbers for unit in (1, 1000)
                    )

    @pytest.mark.parametrize("words", WORDS, ids=lambda words: repr(words[:12]))
    @pytest.mark.parametrize("permission", list(Permission))
    def test_words_arrive_whole(self, words: str, permission: Permission) -> None:
        """The task at the start and the message at a resume arrive unchanged; none is taken for a flag."""
        task = a_task(prompt=words, permission=permission)
        session = a_session(permission=permission)
        commands = [] if self.is_driven(task) else [self.agent().start(task)]
        commands += [] if self.is_driven(session, words) else [self.agent().resume(session, words)]
        for command in commands:
            assert says(command, words)
            assert all(len(each.encode()) <= ARGUMENT_BYTES for each in command.argv)
            if words.startswith("-"):
                flags = command.argv[: command.argv.index("--")] if "--" in command.argv else command.argv
                assert not any(each.startswith(words) for each in flags)

    def test_approval_is_never_freer_than_autonomous(self) -> None:
        """Neither at the start nor after a resume."""
        begun = {mode: self.agent().start(a_task(permission=mode)) for mode in Permission}
        resumed = {mode: self.agent().resume(a_session(permission=mode), "Go on") for mode in Permission}
        for commands in (begun, resumed):
            held, free = commands[Permission.APPROVAL], commands[Permission.AUTONOMOUS]
            assert not any(freedom in told(held) for freedom in self.freedoms)
            assert held == free if not self.freedoms else any(each in told(free) for each in self.freedoms)

    def test_a_session_is_resumed_as_it_was_begun(self) -> None:
        """It is named, with the same arguments and the same environment."""
        more = ("--more", "of the program's own")
        for permission in Permission:
            begun = self.agent().start(a_task(permission=permission, arguments=more))
            session = a_session(permission=permission, arguments=more)
            resumed = self.agent().resume(session, "Go on")
            for command in (begun, resumed):
                places = [i for i, each in enumerate(command.argv) if each == more[0]]
                assert any(command.argv[i : i + 2] == more for i in places)
            assert resumed.environment == begun.environment
            assert SESSION in told(resumed) or self.is_driven(session, "Go on")

    def test_only_a_deferred_call_is_resumed_without_a_message(self) -> None:
        """Any other program would have nothing to do."""
        for permission in Permission:
            session = a_session(permission=permission)
            if self.deferral:
                assert SESSION in told(self.agent().resume(session, None))
            else:
                with pytest.raises(InvalidRequest):
                    self.agent().resume(session, None)

    def test_a_person_can_take_a_session_over(self) -> None:
        """In a terminal, which therefore keeps its input; or is told that it cannot be done."""
        if self.attachable:
            command = self.agent().attach(a_session())
            assert any(SESSION in each for each in command.argv)
            assert command.stdin == ""
        else:
            with pytest.raises(InvalidRequest):
                self.agent().attach(a_session())

    def test_versions_are_judged(self) -> None:
        """From the line that a program prints."""
        assert self.agent().version_problem(self.good_version) is None
        if self.bad_version is not None:
            assert self.agent().version_problem(self.bad_version)

        @given(st.text())
        def is_judged(printed: str) -> None:
            assert self.agent().version_problem(printed) != ""

        is_judged()

    def _undriven(self, permission: Permission) -> Iterable[Command]:
        task, session = a_task(permission=permission), a_session(permission=permission)
        if not self.is_driven(task):
            yield self.agent().start(task)
        if not self.is_driven(session, "Go on"):
            yield self.agent().resume(session, "Go on")


class ReaderContract(AgentHarness):
    """How the program's output is read."""

    def test_what_the_program_tells_is_noticed(self) -> None:
        """Each thing that it can tell, in the order in which it happened."""
        noticed = read(self.agent().reader(), self.sample)
        assert {type(each) for each in noticed} >= set(self.tells)
        for each in noticed:
            match each:
                case SessionSeen(id=name):
                    assert name == self.session
                case Spent(cost=cost, input_tokens=taken, output_tokens=given):
                    assert any((cost, taken, given))
                case Finished(ok=ok):
                    assert ok
                case _:
                    pass
        assert sum(isinstance(each, Finished) for each in noticed) == (Finished in self.tells)

    def test_a_tools_result_follows_its_call(self) -> None:
        """Under the same id, with the text that is the evidence."""
        noticed = read(self.agent().reader(), self.sample)
        calls = [each.id for each in noticed if isinstance(each, ToolCalled)]
        results = [each for each in noticed if isinstance(each, ToolReturned)]
        assert len(calls) == len(set(calls))
        for result in results:
            assert result.id in calls
            called = next(
                i for i, each in enumerate(noticed) if isinstance(each, ToolCalled) and each.id == result.id
            )
            assert called < noticed.index(result)
        assert ToolReturned not in self.tells or any(self.answer in each.text for each in results)

    def test_the_session_is_known_at_once(self) -> None:
        """From the line that has it, before anything else happened; some programs have a word of greeting first."""
        noticed = read(self.agent().reader(), self.sample)
        if SessionSeen in self.tells:
            assert isinstance(next(each for each in noticed if not isinstance(each, Said)), SessionSeen)

    def test_work_that_ended_badly_is_told_with_a_reason(self) -> None:
        """From the program's own word."""
        ends = [each for each in read(self.agent().reader(), self.failing) if isinstance(each, Finished)]
        assert bool(ends) == (Finished in self.tells)
        assert all(not end.ok and end.reason for end in ends)

    def test_a_stream_that_was_cut_has_no_end(self) -> None:
        """Half a line is no word about how the work ended."""
        for lines in (self.sample, self.failing):
            for count, line in enumerate(lines):
                for at in range(0, len(line.rstrip()), max(1, len(line) // 200)):
                    reader = self.agent().reader()
                    before = read(reader, lines[:count])
                    assert not any(isinstance(each, Finished) for each in read(reader, [line[:at]]))
                    if any(isinstance(each, Finished) for each in before):
                        break

    def test_any_line_can_be_read(self) -> None:
        """One that makes no sense is no reason to stop, at the start or in the middle."""
        reader = self.agent().reader()
        read(reader, (*HOSTILE, *self.sample, *HOSTILE))

        @given(st.lists(st.text() | _JSON.map(json.dumps)))
        @example(list(HOSTILE[:8]))
        def is_read(lines: list[str]) -> None:
            read(self.agent().reader(), lines)

        is_read()

    def test_lines_with_other_things_in_them_can_be_read(self) -> None:
        """A later version of the program leaves fields out, or has something else in them."""
        lines = [json.loads(line) for line in (*self.sample, *self.failing) if line.startswith("{")]
        if not lines:
            return

        @given(st.sampled_from(lines), st.data())
        def is_read(line: Any, data: st.DataObject) -> None:
            reader = self.agent().reader()
            read(reader, [*self.sample[:1], json.dumps(_altered(line, data)), *self.sample])

        is_read()


class AgentContract(CommandContract, ReaderContract):
    """Everything that is asked of an adapter."""


def _altered(value: Any, data: st.DataObject) -> Any:
    """The same JSON with something in it replaced or gone."""
    if isinstance(value, dict) and value and data.draw(st.integers(0, 4)):
        name = data.draw(st.sampled_from(sorted(value)))
        rest = {key: each for key, each in value.items() if key != name}
        return rest if data.draw(st.integers(0, 4)) == 0 else {**rest, name: _altered(value[name], data)}
    if isinstance(value, list) and value and data.draw(st.integers(0, 4)):
        at = data.draw(st.integers(0, len(value) - 1))
        return [*value[:at], _altered(value[at], data), *value[at + 1 :]]
    return data.draw(_JSON)
