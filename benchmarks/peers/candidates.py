"""Who is measured, how each is run, and what is told of each instead of a figure."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.peers.servers import PYTHON, AwaithumansServer, File, Postgres, Server, UpcallDaemon
from benchmarks.pipe import CONSOLE_SCRIPT
from tests.postgres_server import PostgresServer

LIBRARY = "no MCP server"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One way for an agent to ask a person. `module` is a room of this folder."""

    name: str
    module: str
    python: Path
    server: Callable[[Path, PostgresServer | None], Server]
    durable: str
    """What of a question and its answer is on disk at the package's defaults."""

    stdio: tuple[str, ...] | str
    """The command of its MCP server on standard input and output, or why there is none."""

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """What its processes find in their environment."""

    postgres: bool = False
    process_each: bool = False
    """Whether every agent that waits has a process of the candidate's beside it."""


def _daemon(folder: Path, _: PostgresServer | None) -> Server:
    return UpcallDaemon(folder)


def _postgres(folder: Path, server: PostgresServer | None) -> Server:
    assert server is not None
    return Postgres(folder, server)


UPCALL = Candidate(
    name="Upcall, Python client",
    module="upcall_client",
    python=Path(sys.executable),
    server=_daemon,
    durable="question and answer",
    stdio="the next row",
)
CANDIDATES = (
    UPCALL,
    Candidate(
        name="Upcall, `upcall mcp`",
        module="upcall_stdio",
        python=Path(sys.executable),
        server=_daemon,
        durable="question and answer",
        stdio=CONSOLE_SCRIPT,
        process_each=True,
    ),
    Candidate(
        name="awaithumans",
        module="awaithumans_sdk",
        python=PYTHON,
        server=lambda folder, _: AwaithumansServer(folder),
        durable="question and answer",
        stdio=LIBRARY,
    ),
    Candidate(
        name="mcp-feedback-enhanced",
        module="feedback_page",
        python=PYTHON,
        server=lambda folder, _: File(folder),
        durable="nothing: both are in its memory",
        stdio=(str(PYTHON), "-m", "mcp_feedback_enhanced"),
        # Everything stays on this machine: its library would ask a registry for a newer version of itself.
        variables={"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_SHOW_SERVER_BANNER": "false"},
        process_each=True,
    ),
    Candidate(
        name="DBOS on PostgreSQL",
        module="dbos_workflow",
        python=PYTHON,
        server=_postgres,
        durable="question and answer",
        stdio=LIBRARY,
        postgres=True,
    ),
    Candidate(
        name="DBOS on SQLite",
        module="dbos_workflow",
        python=PYTHON,
        server=lambda folder, _: File(folder, "sqlite:///{path}"),
        durable="question and answer",
        stdio=LIBRARY,
    ),
    Candidate(
        name="LangGraph interrupt",
        module="langgraph_interrupt",
        python=PYTHON,
        server=lambda folder, _: File(folder),
        durable="the question; the answer once the node has gone on with it",
        stdio=LIBRARY,
    ),
)
CLOUD = {
    "wayza-human": "a client of its vendor's service: nothing of it can answer on this machine, so there is nothing to measure",
}
"""Who cannot be measured, and why."""
