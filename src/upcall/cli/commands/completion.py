"""`upcall completion`: scripts for shells, made from the parsers of the commands."""

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from upcall.cli.command import Command, load, parser_of
from upcall.domain.errors import UpcallError

SHELLS = ("bash", "zsh", "fish")
WORDS = {"mcp": ("--wait", "--help")}
"""Options of commands without a parser."""
SET_UP = ("setup", "doctor")
KNOWN = {("", "ref"): "refs", ("", "run"): "numbers", ("run", "agent"): "agents"}
"""Which hidden command lists the values of an argument, of one command or of all."""

LISTED = 200


class Completion(NamedTuple):
    """The words that can follow one command."""

    name: str
    summary: str
    options: tuple[str, ...]
    words: tuple[str, ...]
    known: str
    """The hidden command that lists its values: `refs`, `numbers`, `agents`, or none."""


def entries() -> list[Completion]:
    """Every command with the words that can follow it."""
    from upcall.cli.table import commands
    from upcall.setup.clients import CLIENTS

    found: list[Completion] = []
    for name, summary in commands().items():
        if name in WORDS:
            found.append(Completion(name, summary, WORDS[name], (), ""))
            continue
        entry = _entry(name, summary, parser_of(name, summary, load(name)))
        # These two commands know a fixed set of programs, not the agents of the settings.
        found.append(entry._replace(words=tuple(CLIENTS)) if name in SET_UP else entry)
    return found


def _entry(name: str, summary: str, parser: ArgumentParser) -> Completion:
    options: list[str] = []
    words: list[str] = []
    known = ""
    # argparse keeps no public list of what a parser takes.
    for action in parser._actions:  # noqa: SLF001
        if action.help == argparse.SUPPRESS:
            continue
        options += action.option_strings
        known = KNOWN.get((name, action.dest)) or KNOWN.get(("", action.dest), known)
        if action.option_strings or not action.choices:
            continue
        words += [str(choice) for choice in action.choices]
        if isinstance(action.choices, Mapping):  # commands of their own, by name
            options += [word for inner in action.choices.values() for word in _entry("", "", inner).options]
    return Completion(name, summary, tuple(dict.fromkeys(options)), tuple(words), known)


def bash(every: list[Completion]) -> str:
    """For bash."""
    cases = "\n".join(
        f"    {entry.name}) options={_quoted(' '.join(entry.options))} words={_quoted(' '.join(entry.words))}"
        f" known={entry.known} ;;"
        for entry in every
    )
    return f"""\
# upcall completion for bash: source this, or put it into ~/.local/share/bash-completion/completions/upcall
_upcall() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options= words= known=
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=($(compgen -W {_quoted(" ".join(entry.name for entry in every))} -- "$current"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif (( COMP_CWORD == 2 )); then
    [[ $known ]] && words=$(upcall $known 2>/dev/null)
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ ${{COMP_WORDS[1]}} == answer ]]; then
    # Labels are words of agents: they are compared and quoted, and never expanded.
    local label
    while IFS= read -r label; do
      [[ $label == "$current"* ]] && COMPREPLY+=("$(printf %q "$label")")
    done < <(upcall labels "${{COMP_WORDS[2]}}" 2>/dev/null)
  fi
}}
complete -o default -F _upcall upcall
"""


def zsh(every: list[Completion]) -> str:
    """For zsh."""
    described = "\n".join(f"    {_quoted(f'{entry.name}:{entry.summary}')}" for entry in every)
    cases = "\n".join(
        f"    {entry.name}) options=({' '.join(entry.options)}) words_=({' '.join(entry.words)})"
        f" known={entry.known} ;;"
        for entry in every
    )
    return f"""\
#compdef upcall
# upcall completion for zsh: put this as _upcall into a folder of your $fpath
_upcall() {{
  local -a commands options words_
  local known=
  commands=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{cases}
  esac
  if [[ $PREFIX == -* ]]; then
    compadd -- $options
  elif (( CURRENT == 3 )); then
    [[ -n $known ]] && words_=(${{(f)"$(upcall $known 2>/dev/null)"}})
    compadd -- $words_
    [[ -n $known ]] || _files
  elif [[ $words[2] == answer ]]; then
    compadd -- ${{(f)"$(upcall labels $words[3] 2>/dev/null)"}}
  else
    _files
  fi
}}
compdef _upcall upcall
"""


def fish(every: list[Completion]) -> str:
    """For fish."""
    lines = ["# upcall completion for fish: put this into ~/.config/fish/completions/upcall.fish"]
    for entry in every:
        lines.append(
            f"complete -c upcall -f -n __fish_use_subcommand -a {entry.name} -d {_quoted(entry.summary)}"
        )
        seen = f"complete -c upcall -n '__fish_seen_subcommand_from {entry.name}'"
        lines += [
            f"{seen} -l {word[2:]}" if word.startswith("--") else f"{seen} -s {word[1:]}"
            for word in entry.options
        ]
        if entry.words:
            lines.append(f"{seen} -f -a {_quoted(' '.join(entry.words))}")
        if entry.known:
            lines.append(f"{seen} -f -a '(upcall {entry.known} 2>/dev/null)'")
        if entry.name == "answer":
            lines.append(f"{seen} -f -a '(upcall labels (commandline -opc)[3] 2>/dev/null)'")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _completion(args: Namespace) -> int:
    print({"bash": bash, "zsh": zsh, "fish": fish}[args.shell](entries()), end="")
    return 0


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="which shell")


def _refs(args: Namespace) -> int:
    return _list(f"/v1/inquiries?state=open&limit={LISTED}", "ref")


def _labels(args: Namespace) -> int:
    """Print the labels of a question's options, each on a line of its own."""
    from upcall.domain.text.display import one_line

    found = _known(f"/v1/inquiries/{quote(args.ref.removeprefix('#'), safe='')}") if args.ref else None
    for asked in found["questions"] if found else ():
        sys.stdout.writelines(f"{one_line(option['label'])}\n" for option in asked["options"])
    return 0


def _labelled(parser: ArgumentParser) -> None:
    parser.add_argument("ref", nargs="?", default="")


def _numbers(args: Namespace) -> int:
    return _list("/v1/runs?limit=50", "number")


def _list(path: str, field: str) -> int:
    """Print names for completion."""
    found = _known(path)
    sys.stdout.writelines(f"{item[field]}\n" for item in (found["items"] if found else ()))
    return 0


def _known(path: str) -> Any:
    """What the daemon says; None if it is not up or refuses. Nothing is started, and no error printed."""
    from upcall.cli.client import Client

    client = Client()
    if not client.remote and not client.home.running():
        return None
    try:
        return client.get(path)
    except (UpcallError, OSError):
        return None  # completion offers nothing then


def _agents(args: Namespace) -> int:
    from upcall.agents.catalogue import agent_names
    from upcall.config.settings import load
    from upcall.home.files import default_home

    try:
        names = agent_names(load(default_home()).agents)
    except (UpcallError, OSError):
        # Settings that cannot be read leave the agents that are built in.
        names = agent_names({})
    sys.stdout.writelines(f"{name}\n" for name in names)
    return 0


COMMAND = Command(
    _completion,
    _arguments,
    examples="""\
  source <(upcall completion bash)
  mkdir -p ~/.zfunc && upcall completion zsh > ~/.zfunc/_upcall
  mkdir -p ~/.config/fish/completions && upcall completion fish > ~/.config/fish/completions/upcall.fish""",
)
LISTS = {
    "refs": Command(_refs),
    "labels": Command(_labels, _labelled),
    "numbers": Command(_numbers),
    "agents": Command(_agents),
}
"""Commands without help of their own, which the scripts call."""
