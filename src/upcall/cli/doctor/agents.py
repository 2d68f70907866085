"""The check-up of one agent: its program, what it was told about Upcall, and whether it has the patience."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from upcall.agents.catalogue import agent_named
from upcall.cli.doctor.findings import FAILED, NOTE, OK, Finding
from upcall.config.settings import Config
from upcall.domain.errors import UpcallError
from upcall.domain.text.times import span
from upcall.home.files import Home
from upcall.runs.process.programs import PackageMissing, ProgramMissing, Programs, check_packages
from upcall.setup.clients import Place, files_for, own_door
from upcall.setup.denials import denials
from upcall.setup.looking import server_of
from upcall.setup.plan import File, additions


def look(name: str, place: Place, home: Home, config: Config, *, wanted: bool) -> Iterator[Finding]:
    """Look at everything that belongs to one agent; `wanted` if somebody asked for this one."""
    agent = agent_named(name, config.agents)
    try:
        version = asyncio.run(Programs().version(agent, os.environ))
    except ProgramMissing as error:
        state = FAILED if wanted else NOTE
        yield Finding("program", state, error.message, error.hint or "")
        if not wanted:
            return
    except UpcallError as error:
        yield Finding("program", FAILED, error.message, error.hint or "")
    else:
        yield Finding("program", OK, f"{shutil.which(agent.program())}, {version.splitlines()[0]}")
    try:
        check_packages(agent)
    except PackageMissing as error:
        yield Finding("runs", NOTE, error.message, error.hint or "")
    files = files_for(name, place, own_door(os.environ), prompt=False)
    yield _set_up(name, files, wanted=wanted)
    for denial in denials(name, place, Path.cwd(), files[0].path):
        yield Finding("allowed", FAILED, f"{denial.path}: {denial.says}, so {name} cannot ask", denial.next)
    yield from _server(name, files[0], home, config)


def _set_up(name: str, files: list[File], *, wanted: bool) -> Finding:
    try:
        missing = additions(files)
    except UpcallError as error:
        return Finding("set up", FAILED, error.message, error.hint or "")
    where = ", ".join(str(file.path) for file in files)
    if not missing:
        return Finding("set up", OK, where)
    if server_of(name, files[0]) is None:
        state = FAILED if wanted else NOTE
        return Finding("set up", state, f"{name} does not know Upcall", f"upcall setup {name}")
    differs = ", ".join(str(change.path) for change in missing)
    return Finding(
        "set up", NOTE, f"not as `upcall setup` would do it: {differs}", f"upcall setup {name} --dry-run"
    )


def _server(name: str, file: File, home: Home, config: Config) -> Iterator[Finding]:
    server = server_of(name, file)
    if server is None:
        return
    redo = f"upcall setup {name}"
    command = server.command[0] if server.command else ""
    if shutil.which(command) is None:
        yield Finding("command", FAILED, f"{command!r} cannot be started", redo)
    if server.home and server.home != str(home.path.absolute()):
        yield Finding(
            "installation", NOTE, f"it asks through {server.home}, and you are looking at {home.path}"
        )
    needed = config.block_timeout if server.blocks else config.slice
    if server.patience < needed:
        yield Finding(
            "patience",
            FAILED,
            f"{name} gives a call up after {span(server.patience)}, and Upcall holds one for {span(needed)}",
            redo,
        )
    else:
        held = f"Upcall holds a call for {span(needed)}"
        yield Finding("patience", OK, f"{held}, and {name} waits for {span(server.patience)}")
