"""Which question is meant where a person names a run."""

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.command import is_run
from upcall.cli.failures import CommandFailed
from upcall.cli.render.inquiries import Inquiry, answer_command, takes_force
from upcall.cli.render.runs import OVER, Run, ending

PAGE = 200


def asked_by(client: Client, name: str, *, force: bool = False) -> str:
    """The question that is meant: the name itself, or what the run with that number asks.

    With `force`, a run that asks nothing any more is asked for what it last asked in vain.

    Raises:
        CommandFailed: if the run asks nothing, or several things.
    """
    if not is_run(name):
        return name
    run: Run = client.get(run_path(name))
    refs: list[str] = run["inquiries"]
    if len(refs) == 1:
        return refs[0]
    if refs:
        raise _which(client, run)
    expired = _last_expired(client, run)
    if expired is None or not force:
        raise _asks_nothing(run, expired)
    ref: str = expired["id"]
    return ref


def _which(client: Client, run: Run) -> CommandFailed:
    commands = [answer_command(client.get(inquiry_path(ref))) for ref in run["inquiries"]]
    return CommandFailed(
        f"run {run['number']} has {len(commands)} open questions", hint=f"say which: {', or '.join(commands)}"
    )


def _asks_nothing(run: Run, expired: Inquiry | None) -> CommandFailed:
    number = run["number"]
    if expired is not None:
        hint = f"{answer_command(expired, str(number))} --force, to answer what it asked in vain"
    else:
        hint = f'upcall say {number} "…", to tell it something'
    if run["state"] in OVER:
        return CommandFailed(f"run {number} {ending(run)}: it waits for no answer", hint=hint)
    return CommandFailed(f"run {number} asks nothing at the moment", hint=hint)


def _last_expired(client: Client, run: Run) -> Inquiry | None:
    found: list[Inquiry] = []
    for state in ("expired", "failed"):
        found += client.get("/v1/inquiries", state=state, agent=run["agent"], limit=PAGE)["items"]
    mine = [inquiry for inquiry in found if inquiry["run"] == run["number"] and takes_force(inquiry)]
    return max(mine, key=lambda inquiry: str(inquiry["asked_at"]), default=None)
