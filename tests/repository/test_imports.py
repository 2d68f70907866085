"""Dependency rules that import-linter cannot express; the layers themselves are in pyproject.toml."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HEAVY = {"asyncio", "http.client", "mcp", "mcp_types", "orjson", "pydantic", "starlette", "uvicorn"}

LOADED_BY_THE_PIPE = """
import sys
before = set(sys.modules)
import upcall.doors.pipe.pipe
print(*sorted(set(sys.modules) - before), sep="\\n")
"""


LOADED_BY_THE_DAEMON = """
import sys
import upcall.daemon.server
print(*sorted(sys.modules), sep="\\n")
"""
FOR_PAGES = {"jinja2", "markdown_it", "markupsafe"}
FOR_CHANNELS = {"aiogram", "aiohttp", "cryptography", "pywebpush", "slack_sdk"}


LOADED_BY_A_PROGRAM = """
import sys
before = set(sys.modules)
import upcall
print("loaded", *sorted(set(sys.modules) - before))
upcall.ask, upcall.Client, upcall.Answered, upcall.sync
print("used", *sorted(set(sys.modules) - before))
"""
NOT_FOR_PROGRAMS = {
    "http.client",
    "httpx2",
    "mcp",
    "mcp_types",
    "orjson",
    "pydantic",
    "sqlite3",
    "starlette",
    "uvicorn",
}


def imported_by(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(level=0, module=str(name)):
                yield name
            case ast.ImportFrom(level=level) if level > 1:
                yield "." * level + (node.module or "")
            case _:
                pass


def belongs_in_the_domain(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names or f"{name}.".startswith("upcall.domain.")


def test_the_domain_imports_only_the_standard_library_and_itself(root: Path) -> None:
    modules = sorted((root / "src/upcall/domain").rglob("*.py"))
    foreign = [
        f"{module.relative_to(root)}: {name}"
        for module in modules
        for name in imported_by(module)
        if not belongs_in_the_domain(name)
    ]
    assert modules
    assert foreign == []


def test_the_pipe_loads_nothing_heavy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED_BY_THE_PIPE], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert "upcall.doors.pipe.pipe" in run.stdout.split()
    assert HEAVY & set(run.stdout.split()) == set()


def test_a_daemon_starts_without_what_only_pages_and_channels_need() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED_BY_THE_DAEMON], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    assert "upcall.web.pages.routes" in run.stdout.split()
    assert (FOR_PAGES | FOR_CHANNELS) & set(run.stdout.split()) == set()


@pytest.mark.promise("programs/12")
def test_importing_upcall_loads_nothing_and_using_its_client_nothing_heavy() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LOADED_BY_A_PROGRAM], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr
    loaded, used = (set(line.split()[1:]) for line in run.stdout.splitlines())
    assert loaded == {"upcall"}
    assert "upcall.client.client" in used
    assert used & NOT_FOR_PROGRAMS == set()
    # Beside a framework that holds our dependencies back, the client is installed without them.
    others = {name.split(".")[0] for name in used} - sys.stdlib_module_names - {"upcall"}
    assert others <= {"anyio", "idna", "sniffio", "typing_extensions"}
    parts = {".".join(name.split(".")[:2]) for name in used if name.startswith("upcall.")}
    assert parts <= {"upcall.client", "upcall.domain", "upcall.home"}
