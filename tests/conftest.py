"""What every test may use; fixtures of one area live in that area's own conftest."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgres_server import PostgresServer, binaries
from tests.warm.daemons import WarmDaemons

# A slow machine is not a wrong answer.
settings.register_profile("upcall", settings.get_profile(settings.get_current_profile_name()), deadline=None)
# `make quick` looks for inputs for a shorter time.
settings.register_profile("quick", settings.get_profile("upcall"), max_examples=25, stateful_step_count=20)
settings.load_profile("upcall")

TESTS = Path(__file__).parent
# As after `pipx install`: what is printed says `upcall` where PATH finds it.
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
SLOWEST = frozenset({"agents", "benchmarks", "browser", "crash", "stories"})
COLD = frozenset({"benchmarks", "deploy"})
UNIT = frozenset({"config", "domain", "model", "ports", "simulation"})
COMPONENT = frozenset(
    {
        "adversary",
        "approvals",
        "broker",
        "client",
        "contracts",
        "dispatch",
        "doors",
        "files",
        "presets",
        "setup",
        "stores",
        "telemetry",
        "web",
    }
)


warm_daemons = WarmDaemons()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let the daemons of a test of the tier `system` start warm, unless it is about their start."""
    is_cold = item.get_closest_marker("cold") or item.path.relative_to(TESTS).parts[0] in COLD
    if item.get_closest_marker("system") and not is_cold:
        warm_daemons.use()
    else:
        warm_daemons.leave()


def pytest_sessionfinish() -> None:
    """End the server of warm daemons."""
    warm_daemons.close()


def pytest_collection() -> None:
    """Collect without the garbage collector: all that is loaded now stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was loaded out of every later collection: it would be gone through thousands of times."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest folders first, and give each test its tier: `unit` and `component` by their folder, `system` all others and what needs PostgreSQL."""
    # The folders with the slowest files first: none of them may be the last that one worker is left with.
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] not in SLOWEST)
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0]
        fixtures: list[str] = getattr(item, "fixturenames", [])
        if "running_postgres" in fixtures or folder not in UNIT | COMPONENT:
            item.add_marker("system")
        else:
            item.add_marker("unit" if folder in UNIT else "component")


def require(found: object, what: str) -> None:
    """Skip the test where `what` is not on this machine; with `CI` set, fail instead.

    A skip is a kindness to a contributor who has no browser installed; in continuous integration it would
    be a silent hole.
    """
    if found:
        return
    if os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and with CI set nothing may be skipped", pytrace=False)
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop of the daemon. (A server of the standard library's loop in Python 3.11 leaks a connection
    that it accepts while it is closed.)
    """
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server for the whole run."""
    installed = binaries()
    require(installed, "PostgreSQL")
    assert installed is not None
    server = PostgresServer(installed)
    server.start()
    yield server
    server.remove()


@pytest.fixture
def postgres(running_postgres: PostgresServer) -> Iterator[PostgresServer]:
    """That server, without a trace of it after the test."""
    yield running_postgres
    running_postgres.drop_databases()
