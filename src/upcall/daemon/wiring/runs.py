"""The supervised runs of a home, and the desks where actions of agents are decided."""

import secrets
from socket import gethostname

from upcall.access.connected import ConnectedSessions
from upcall.access.tokens import Access
from upcall.agents.catalogue import agent_named
from upcall.approvals.desk import ApprovalDesk
from upcall.broker.broker import Broker
from upcall.config.settings import Config
from upcall.domain.roles import Caller
from upcall.domain.run.program import Permission
from upcall.domain.run.run import Run
from upcall.home.files import Home
from upcall.runs.process.host import FolderSetup, RunHost, RunSettings
from upcall.runs.service import RunService


def supervised_runs(
    home: Home, config: Config, url: str, broker: Broker, access: Access, held: ConnectedSessions
) -> RunService:
    """The runs of one home."""

    def run_desk(run: Run) -> ApprovalDesk:
        return desk(broker, access, caller=run.caller, session="", door="native", workspace=run.cwd)

    def folder_setup(name: str) -> FolderSetup | None:
        if not config.work_tree_server:
            return None
        # Few have it, and what it edits files with takes time to load.
        from upcall.presets.work_tree_server import work_tree  # noqa: PLC0415 - see above

        return work_tree(config, url, config.agent(name).adapter or name)

    settings = RunSettings(
        limit=config.runs.limit,
        permission=lambda name: Permission(config.permission_of(name)),
        arguments=lambda name: config.agent(name).arguments,
        resume_message=config.resume_message,
        advice=config.advice,
        aliases=config.tool_aliases,
        server=config.work_tree_server,
        wait=config.block_timeout,
        activity=config.activity,
    )
    host = RunHost(
        home=home,
        url=url,
        runner=runner_name(home),
        settings=settings,
        access=access,
        agents=lambda name: agent_named(name, config.agents, config.marker),
        desks=run_desk,
        held=held,
        folder_setup=folder_setup,
    )
    return RunService(host, broker)


def runner_name(home: Home) -> str:
    """The name of this machine among those that share a database. It is chosen once; a later change of the host's name leaves it."""
    path = home.path / "runner"
    if not path.exists():
        home.write_private(path, f"{gethostname()}-{secrets.token_hex(3)}\n")
    return path.read_text().strip()


def desk(
    broker: Broker,
    access: Access,
    *,
    caller: Caller,
    session: str,
    door: str,
    workspace: str | None = None,
    client: str = "",
    program: str = "",
    runner: str = "",
) -> ApprovalDesk:
    """The desk of one asker. A run has one desk for all its processes and doors."""
    return ApprovalDesk(
        broker,
        caller=caller,
        session=session if caller.run is None else f"run-{caller.run}",
        door=door,
        workspace=workspace,
        client=client,
        program=program,
        runner=runner,
        has_people=access.has_people,
    )
