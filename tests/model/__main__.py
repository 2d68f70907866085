"""`python -m tests.model [CRASHES DELAYS DAEMONS]`: explores a larger world than the tests do, and tells how large it is."""

import sys

from tests.model.explorer import explore
from tests.model.protocol import Model, always, in_the_end

DEFAULT = ("4", "3", "3")


def main() -> int:
    """Explore, and tell."""
    crashes, delays, daemons = map(int, sys.argv[1:] or DEFAULT)
    model = Model()
    found = explore(model.start(crashes, delays, daemons), model.steps, always=always, in_the_end=in_the_end)
    sys.stdout.write(
        f"{daemons} daemons, {crashes} crashes, {delays} leases that end too early: "
        f"{found.states} states, {found.steps} steps, "
        f"{'every promise holds' if found.broken is None else found.broken}\n"
    )
    return found.broken is not None


if __name__ == "__main__":
    sys.exit(main())
