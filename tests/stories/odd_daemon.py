"""Run like `upcall`: a daemon with leases of LEASE seconds, on a machine with a clock that is wrong by CLOCK seconds.

What is a minute in the product would be a minute in a test. `LEASE=0` leaves every lease as it is. When it has taken up a
job of the kind HALT for the first time, it stops before it does anything, as a machine does that hangs.
"""

import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from upcall.domain.records import Job

Step = Callable[..., Awaitable[Any]]


def halting(step: Step, kinds: list[str]) -> Step:
    """The same step, which halts this process before the first job of one of these kinds."""

    async def halted(worker: object, job: Job, *more: object) -> object:
        if job.kind in kinds:
            kinds.remove(job.kind)
            os.kill(os.getpid(), signal.SIGSTOP)
        return await step(worker, job, *more)

    return halted


def main() -> int:
    right, wrong_by = time.time, float(os.environ["CLOCK"])
    # Before anything takes it for the time.
    time.time = lambda: right() + wrong_by
    from upcall.broker import heartbeat
    from upcall.cli.app import run
    from upcall.dispatch import escalating, listening, messages
    from upcall.runs import resume as resuming

    lease = float(os.environ["LEASE"])
    if lease:
        messages.LEASE, messages.CALL_SECONDS = lease, lease / 3
        # Modules that copy these constants have to be imported later.
        assert "upcall.daemon.wiring.channels" not in sys.modules
        escalating.LEASE = listening.LEASE = lease
        resuming.LEASE = resuming.STARTED_WITHIN = lease
        defaults = heartbeat.Heartbeat.__init__.__kwdefaults__
        assert defaults is not None
        defaults["lease"] = lease
    kinds = os.environ.get("HALT", "").split()
    for owner, name in ((messages.Messages, "_fence"), (resuming.ResumeWorker, "_resume")):
        setattr(owner, name, halting(getattr(owner, name), kinds))
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
