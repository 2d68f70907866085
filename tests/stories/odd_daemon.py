"""Run like `upcall`: a daemon whose leases last LEASE seconds, on a machine whose clock is wrong by CLOCK seconds.

What is a minute in the product would be a minute in a test. `LEASE=0` leaves every lease as it is.
"""

import os
import sys
import time


def main() -> int:
    right, wrong_by = time.time, float(os.environ["CLOCK"])
    # Before anything takes it for the time.
    time.time = lambda: right() + wrong_by
    from upcall import presence
    from upcall.cli.app import run
    from upcall.dispatch import escalating, listening, worker
    from upcall.runs import resuming

    lease = float(os.environ["LEASE"])
    if lease:
        worker.LEASE, worker.CALL_SECONDS = lease, lease / 2
        # Whoever takes over these constants has to be imported later.
        assert "upcall.wiring_channels" not in sys.modules
        escalating.LEASE = listening.LEASE = lease
        resuming.LEASE = resuming.STARTED_WITHIN = lease
        defaults = presence.Presence.__init__.__kwdefaults__
        assert defaults is not None
        defaults["lease"] = lease
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
