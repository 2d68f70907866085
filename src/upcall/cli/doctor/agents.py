"""The checks of one agent: its program, its settings for Upcall, and how long its calls may take."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from upcall.agents.catalogue import agent_named
from upcall.cli.doctor.checks import FAILED, NOTE, OK, Check
from upcall.config.settings import Config
from upcall.domain.errors import UpcallError
from upcall.domain.text.times import span
from upcall.home.files import Home
from upcall.runs.process.programs import PackageMissing, ProgramMissing, Programs, check_packages
from upcall.setup.clients import UserFolders, files_for, own_server
from upcall.setup.inspecting import exclusions, server_of
from upcall.setup.plan import PlannedFile, additions


def look(name: str, place: UserFolders, home: Home, config: Config, *, wanted: bool) -> Iterator[Check]:
    """Check one agent; `wanted` if it was named on the command line."""
    agent = agent_named(name, config.agents)
    try:
        version = asyncio.run(Programs().version(agent, os.environ))
    except ProgramMissing as error:
        state = FAILED if wanted else NOTE
        yield Check("program", state, error.message, error.hint or "")
        if not wanted:
            return
    except UpcallError as error:
        yield Check("program", FAILED, error.message, error.hint or "")
    else:
        # A program of the owner's own may print no version.
        told = ", ".join([str(shutil.which(agent.program())), *version.splitlines()[:1]])
        yield Check("program", OK, told)
    try:
        check_packages(agent)
    except PackageMissing as error:
        yield Check("runs", NOTE, error.message, error.hint or "")
    files = files_for(name, place, own_server(os.environ), prompt=False)
    yield _set_up(name, files, wanted=wanted)
    for exclusion in exclusions(name, place, Path.cwd(), files[0].path):
        yield Check(
            "allowed", FAILED, f"{exclusion.path}: {exclusion.says}, so {name} cannot ask", exclusion.next
        )
    yield from _server(name, files[0], home, config)


def _set_up(name: str, files: list[PlannedFile], *, wanted: bool) -> Check:
    try:
        missing = additions(files)
    except UpcallError as error:
        return Check("set up", FAILED, error.message, error.hint or "")
    where = ", ".join(str(file.path) for file in files)
    if not missing:
        return Check("set up", OK, where)
    if server_of(name, files[0]) is None:
        state = FAILED if wanted else NOTE
        return Check("set up", state, f"{name} does not know Upcall", f"upcall setup {name}")
    differs = ", ".join(str(change.path) for change in missing)
    return Check(
        "set up", NOTE, f"not as `upcall setup` would do it: {differs}", f"upcall setup {name} --dry-run"
    )


def _server(name: str, file: PlannedFile, home: Home, config: Config) -> Iterator[Check]:
    server = server_of(name, file)
    if server is None:
        return
    redo = f"upcall setup {name}"
    command = server.command[0] if server.command else ""
    if shutil.which(command) is None:
        yield Check("command", FAILED, f"{command!r} cannot be started", redo)
    if server.home and server.home != str(home.path.absolute()):
        yield Check(
            "installation", NOTE, f"it asks through {server.home}, and these checks are of {home.path}"
        )
    needed = config.block_timeout if server.blocks else config.slice
    if server.patience < needed:
        yield Check(
            "patience",
            FAILED,
            f"{name} gives a call up after {span(server.patience)}, and Upcall holds one for {span(needed)}",
            redo,
        )
    else:
        held = f"Upcall holds a call for {span(needed)}"
        yield Check("patience", OK, f"{held}, and {name} waits for {span(server.patience)}")
