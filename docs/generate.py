"""Writes `docs/commands.md` from the parsers themselves: `python docs/generate.py`.

Not from their help texts: the layout of those changes with the version of Python.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from upcall.cli.command import Command, load, parser_of
from upcall.cli.commands.mcp import HELP as MCP_HELP
from upcall.cli.table import GROUPS

PAGE = Path(__file__).with_name("commands.md")
INTRODUCTION = """\
# Commands

Written by `python docs/generate.py`; do not edit. `upcall COMMAND --help` says the same.

A REF is what `upcall status` shows after the #; an inquiry's id will do too. A SPAN is seconds, or `90s`, `10m`, `24h`,
`2d`. `--json` prints JSON on standard output, for programs."""
REMARKS = {
    "answer": [
        "except: upcall answer -- draws on a terminal; tests/cli/test_picker.py presses its keys",
        "except: upcall answer a7 -- the same",
        'a7: asked "Which cache?" -o Redis -o Memcached',
        'a7: asked "Which cache?" -o Redis -o Memcached',
        'a7: asked "Which checks?" -o lint -o tests -o types --multi',
        "a7: asked_two",
        "a7: asked_form",
        'a7: asked "Which cache?" -o Redis -o Memcached',
        "a7: acting",
        'a7: asked "Which layout?"',
        'a7: expired "Which cache?" -o Redis -o Memcached',
        "a7: acting",
        "42: asking_run",
        "before: a_picture > sketch.png",
    ],
    "ask": [
        'before: echo "DROP TABLE users;" > migration.sql',
        'before: printf "#!/bin/sh\\necho dropped\\n" > drop.sh && chmod +x drop.sh',
        """before: echo '{"type": "object", "properties": {"port": {"type": "integer"}}}' > port.schema.json""",
        "before: echo one > README && git add README && echo two > README",
        "answer: staging",
        "answer: 1 3",
        "answer: yes",
        "answer: k-123",
        "answer: 8080",
        "answer: yes",
        "shows: dropped",
    ],
    "attach": [
        "run by: tests/cli/test_run_stories.py::test_a_session_stays_taken_while_its_program_lives_even_if_attach_is_killed"
    ],
    "cancel": ['a7: asked "Merge it?"', "42: asking_run"],
    "channels": [
        "run by: tests/channels/test_pages.py::test_the_steps_of_the_pages_lead_to_questions_that_are_shown"
    ],
    "demo": [
        "run by: tests/cli/test_demo.py::test_a_person_answers_in_their_own_way",
        "run by: tests/cli/test_demo.py::test_a_scripted_human_sees_the_demo_through",
    ],
    "doctor": [
        "except: upcall doctor -- the walk through setup.md does",
        "except: upcall doctor claude --ask -- tests/agents/test_setup.py has the doctor ask with the real program",
        "except: upcall doctor --json -- the walk through setup.md does",
    ],
    "correct": ["a7: answered_in_thread"],
    "extend": ['a7: asked "Merge it?"'],
    "human": [
        "run by: tests/cli/test_human.py::test_upcall_human_replies_by_its_script_until_it_has_said_enough"
    ],
    "langgraph": [
        "run by: tests/frameworks/test_langgraph_server.py::test_a_thread_of_a_langgraph_server_survives_the_watcher_and_goes_on_once"
    ],
    "log": ["42: finished_run"],
    "mcp": [
        "have: claude codex",
        "before: claude mcp remove upcall > ~/removed || true",
        "except: upcall mcp --ipc /ipc --wait block -- is what an MCP client starts, inside a container",
    ],
    "migrate": [
        "run by: tests/cli/test_migrate.py::test_an_installation_moves_and_goes_on_with_everything_it_had"
    ],
    "reject": ['a7: asked "Merge it?"'],
    "retry": ["42: failed_run"],
    "rules": ["r1a2b3c4d: rule"],
    "run": [
        'before: mkdir -p ~/shop && echo "Tidy up." > task.md',
        "answer: Redis",
    ],
    "say": ["42: asking_run", "42: finished_run"],
    "setup": [
        "have: version of gemini",
        "before: codex mcp remove upcall && claude mcp remove upcall",
        "types: y",
    ],
    "show": ["have: scripted-agent", 'a7: asked "Merge it?"', "42: finished_run"],
    "snooze": ['a7: asked "Merge it?"'],
    "up": ["endless: http://127.0.0.1:"],
    "wait": ['a7: asked "Merge it?"', "answer: yes"],
}
"""In which situation the tests run a command's examples; `tests/docs/fences.py` says what the words mean."""

_GAP = re.compile(r"(?<=\S) {2,}(?=\S)")


def page() -> str:
    """The whole page."""
    parts = [INTRODUCTION]
    for title, group in GROUPS.items():
        parts.append(f"## {title[:1].upper()}{title[1:]}")
        for name, summary in group.items():
            parts.append(f"### upcall {name}")
            if name == "mcp":
                # It reads its arguments itself, for the sake of a fast start.
                usage, _, examples = MCP_HELP.partition("\n\nexamples:\n")
                parts += [_sentence(summary), f"```text\n{usage}\n```", *_examples(name, examples)]
            else:
                parts += _command(name, summary, load(name))
    return "\n\n".join(parts) + "\n"


def _command(name: str, summary: str, command: Command) -> Iterator[str]:
    parser = parser_of(name, summary, command)
    yield _sentence(summary)
    inner = list(_inner(parser))
    if inner:
        for word, help_text, action in inner:
            yield f"`{_usage(f'upcall {name} {word}', action)}`: {help_text}"
            yield from _table(action)
    else:
        yield f"`{_usage(f'upcall {name}', parser)}`"
        yield from _table(parser)
    yield from _examples(name, command.examples)


def _sentence(summary: str) -> str:
    return f"{summary[:1].upper()}{summary[1:]}."


def _inner(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str, argparse.ArgumentParser]]:
    """Commands of a command, such as `tokens create`."""
    for action in _actions(parser):
        if isinstance(action.choices, Mapping):
            parsers = cast("Mapping[str, argparse.ArgumentParser]", action.choices)
            # argparse keeps the helps of inner parsers apart from the parsers, and neither in public.
            helps = cast("list[argparse.Action]", vars(action)["_choices_actions"])
            for told in helps:
                yield told.dest, told.help or "", parsers[told.dest]


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a parser takes and shows, except for the help that all of them have."""
    # argparse keeps no public list of it.
    every = parser._actions  # noqa: SLF001
    return [action for action in every if action.help != argparse.SUPPRESS and action.dest != "help"]


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    words = [name]
    for action in _actions(parser):
        word = f"{action.option_strings[-1]}{_value(action)}" if action.option_strings else _metavar(action)
        if action.nargs == "*":
            word = f"[{word} …]"
        elif action.nargs == "?" or (action.option_strings and not action.required):
            word = f"[{word}]"
        # What `append` collects can be given again.
        repeated = action.option_strings and isinstance(action.default, list)
        words.append(f"{word}…" if repeated else word)
    return " ".join(words)


def _table(parser: argparse.ArgumentParser) -> Iterator[str]:
    rows = [f"| `{_name(action)}` | {_help(action)} |" for action in _actions(parser)]
    if rows:
        yield "\n".join(["| argument | meaning |", "|---|---|", *rows])


def _name(action: argparse.Action) -> str:
    name = (
        f"{', '.join(action.option_strings)}{_value(action)}" if action.option_strings else _metavar(action)
    )
    return name.replace("|", "\\|")


def _help(action: argparse.Action) -> str:
    return (action.help or "").replace("|", "\\|")


def _value(action: argparse.Action) -> str:
    return "" if action.nargs == 0 else f" {_metavar(action)}"


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    return action.dest.upper().replace("_", "-")


def _examples(name: str, text: str) -> Iterator[str]:
    """What follows a gap on a line of examples is a remark; lines that are no command are said below."""
    lines = [line.strip() for line in text.splitlines()]
    commands = [_GAP.split(line, maxsplit=1) for line in lines if "upcall " in line]
    remarks = " ".join(line for line in lines if line and "upcall " not in line)
    if commands:
        width = max((len(words[0]) for words in commands if words[1:]), default=0)
        shown = [f"{words[0]:<{width}}  # {words[1]}" if words[1:] else words[0] for words in commands]
        yield _remarks(name) + "```sh\n" + "\n".join(shown) + "\n```"
    if remarks:
        yield _sentence(remarks)


def _remarks(name: str) -> str:
    said = REMARKS.get(name)
    return "<!--\n" + "".join(f"{line}\n" for line in said) + "-->\n" if said else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE}\n")
