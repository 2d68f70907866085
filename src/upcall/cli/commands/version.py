"""`upcall version`."""

from argparse import Namespace

from upcall import __version__
from upcall.cli.command import Command


def _version(args: Namespace) -> int:
    print(f"upcall {__version__}")
    return 0


COMMAND = Command(_version)
