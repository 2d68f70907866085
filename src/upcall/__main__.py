"""The `upcall` command. The stdio door and hooks take a short cut: they must start as fast as a bare interpreter."""

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    if sys.argv[1:2] == ["mcp"]:
        # Imported here because the pipe must not pay for the rest of the command line, nor the other way round.
        from upcall.cli.commands.mcp import run_pipe  # noqa: PLC0415

        return run_pipe(sys.argv[2:])
    if sys.argv[1:2] == ["hook"]:
        from upcall.doors.terminal.hook import main as run_hook  # noqa: PLC0415 - as above
        from upcall.home.files import default_home  # noqa: PLC0415 - as above

        return run_hook(default_home(), sys.argv[2:])
    # As above.
    from upcall.cli.app import run  # noqa: PLC0415

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
