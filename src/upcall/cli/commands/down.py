"""`upcall down`: ends the daemon."""

from argparse import Namespace

from upcall.cli.command import Command
from upcall.home.files import default_home
from upcall.home.program import program


def _down(args: Namespace) -> int:
    from upcall.home.instance import stop_running

    home = default_home()
    if not home.path.is_dir():
        print("Upcall is not running.")
        return 0
    # Also without a daemon: a pipe that looks for its daemon then starts none.
    home.write_private(home.down_mark, "")
    if stop_running(home):
        print(
            f"Upcall is down. Open questions are kept; `{program()} up`, or any command that needs it, starts it again."
        )
    else:
        print("Upcall is not running.")
    return 0


COMMAND = Command(
    _down,
    examples="  upcall down                  waiting agents learn that their questions are parked",
)
