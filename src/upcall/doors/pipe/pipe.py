"""`upcall mcp`: between an agent's standard input and output and the daemon.

A pipe, not a server: it passes messages on, remembers those that are not answered yet, and survives the daemon.
Started once per agent, so it loads neither asyncio nor the SDK.
"""

import os

from upcall.doors.pipe.agent_side import Pipe, Uplink
from upcall.home.files import Home


def main(home: Home) -> int:
    """Serve one agent on standard input and output."""
    pipe = Pipe()
    if os.environ.get("UPCALL_URL"):
        # http.client costs as much as everything else here together, so only those who need it load it.
        from upcall.doors.pipe.remote import RemotePipe  # noqa: PLC0415

        remote = RemotePipe(pipe, os.environ["UPCALL_URL"], os.environ.get("UPCALL_TOKEN", ""))
        return pipe.run(
            Uplink(
                remote.run,
                remote.request,
                remote.notify,
                remote.acknowledge,
                respond=remote.respond,
                finish=remote.finish,
            )
        )
    # As above, the other way round.
    from upcall.doors.pipe.local import LocalPipe  # noqa: PLC0415

    local = LocalPipe(pipe, home)
    return pipe.run(
        Uplink(local.run, local.request, local.notify, local.acknowledge, local.foretell, local.respond)
    )
