"""Whether a program can be started: where it is, and whether its version will do."""

import asyncio
import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from upcall.domain.errors import UpcallError
from upcall.ports.agent import Agent, packages_of

VERSION_WITHIN = 30.0


class ProgramMissing(UpcallError):
    """The agent's program is not installed, or not where it is looked for."""

    code = "program_missing"


class ProgramUnfit(UpcallError):
    """The agent's program is there, but not in a version that works."""

    code = "program_unfit"


class PackageMissing(UpcallError):
    """A Python package is not installed that it takes to talk to the agent's program."""

    code = "package_missing"


def check_packages(agent: Agent) -> None:
    """Find out whether an agent's program can be talked to.

    Raises:
        PackageMissing: if not.
    """
    for package, how in packages_of(agent).items():
        if find_spec(package) is None:
            raise PackageMissing(
                f"runs of {agent.name} take the Python package {package!r}, which is not installed", hint=how
            )


class Programs:
    """Looks programs up, and remembers the versions of those that have not changed since."""

    def __init__(self) -> None:
        self._versions: dict[tuple[str, int], str] = {}

    async def check(self, agent: Agent, environment: Mapping[str, str]) -> None:
        """Find out whether runs of an agent can be started.

        Raises:
            ProgramMissing: if its program is not there.
            ProgramUnfit: if the version of that does not work.
            PackageMissing: if the program cannot be talked to.
        """
        await self.version(agent, environment)
        check_packages(agent)

    async def version(self, agent: Agent, environment: Mapping[str, str]) -> str:
        """The version of an agent's program.

        Raises:
            ProgramMissing: if it is not there.
            ProgramUnfit: if its version does not work.
        """
        name = agent.program()
        known = await asyncio.to_thread(_look, name, environment)
        if known is None:
            raise ProgramMissing(f"{name!r} is not installed, or not on PATH", hint=agent.install_hint)
        version = self._versions.get(known) or await _version(known[0], environment)
        self._versions[known] = version
        problem = agent.version_problem(version)
        if problem is not None:
            raise ProgramUnfit(f"{name} says it is {version[:80]!r}: {problem}", hint=agent.install_hint)
        return version


def _look(name: str, environment: Mapping[str, str]) -> tuple[str, int] | None:
    path = shutil.which(name, path=environment.get("PATH", os.defpath))
    return None if path is None else (path, Path(path).stat().st_mtime_ns)


async def _version(path: str, environment: Mapping[str, str]) -> str:
    process = await asyncio.create_subprocess_exec(
        path,
        "--version",
        env=dict(environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(VERSION_WITHIN):
            said, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return ""
    return said.decode("utf-8", "replace").strip()
