"""`upcall service`: the daemon at every login, by systemd's user manager or by launchd."""

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import NamedTuple

from upcall.cli.command import Command
from upcall.cli.failures import need_lasting_program
from upcall.home.files import Home, default_home

LABEL = "upcall.daemon"
PROGRAM = ("-P", "-m", "upcall", "up")
"""Nothing in the current folder is taken for a module."""


class Unit(NamedTuple):
    """A file for the system's own service manager, and the commands that make it look at it."""

    path: Path
    text: str
    enable: list[list[str]]
    disable: list[list[str]]


def systemd_unit(home: Home, python: str, config: Path) -> Unit:
    """A systemd user unit."""
    command = " ".join(_quoted(word) for word in (python, *PROGRAM))
    text = f"""\
[Unit]
Description=Upcall: questions from agents to their people

[Service]
Type=exec
ExecStart={command}
Environment={_quoted(f"UPCALL_HOME={home.path}", dollar="$")}
EnvironmentFile=-{str(home.environment_file).replace("%", "%%")}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure

[Install]
WantedBy=default.target
"""
    manager = ["systemctl", "--user"]
    return Unit(
        config / "systemd/user/upcall.service",
        text,
        [[*manager, "daemon-reload"], [*manager, "enable", "--now", "upcall.service"]],
        [[*manager, "disable", "--now", "upcall.service"]],
    )


def launchd_agent(home: Home, python: str, library: Path) -> Unit:
    """A launchd agent."""
    import plistlib

    plist = {
        "Label": LABEL,
        "ProgramArguments": [python, *PROGRAM],
        "EnvironmentVariables": {"UPCALL_HOME": str(home.path)},
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "StandardErrorPath": str(home.log_file),
    }
    path = library / f"LaunchAgents/{LABEL}.plist"
    return Unit(
        path,
        plistlib.dumps(plist).decode(),
        [["launchctl", "load", "-w", str(path)]],
        [["launchctl", "unload", "-w", str(path)]],
    )


def _unit() -> Unit:
    home = Home(default_home().path.absolute())
    if sys.platform == "darwin":
        return launchd_agent(home, sys.executable, Path("~/Library").expanduser())
    config = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser()
    return systemd_unit(home, sys.executable, config)


def _service(args: Namespace) -> int:
    unit = _unit()
    if args.action == "remove":
        return _remove(unit)
    if args.print:
        print(unit.text, end="")
        return 0
    need_lasting_program("the service")
    unit.path.parent.mkdir(parents=True, exist_ok=True)
    unit.path.write_text(unit.text)
    print(f"Wrote {unit.path}.")
    if _run(unit.enable):
        print("Upcall runs now, and starts at every login.")
    else:
        print("It could not be switched on from here. Run:")
        print("\n".join(f"  {' '.join(command)}" for command in unit.enable))
    return 0


def _remove(unit: Unit) -> int:
    if not unit.path.exists():
        print("No service is installed.")
        return 0
    done = _run(unit.disable)
    unit.path.unlink()
    print(f"Removed {unit.path}.")
    if not done:
        print("It could not be switched off from here. Run:")
        print("\n".join(f"  {' '.join(command)}" for command in unit.disable))
    return 0


def _run(commands: list[list[str]]) -> bool:
    """Run each command; False as soon as one is missing or fails."""
    for command in commands:
        if shutil.which(command[0]) is None:
            return False
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return False
    return True


def _quoted(word: str, *, dollar: str = "$$") -> str:
    """A word as systemd reads it: % and, in a command, $ stand for themselves only when doubled."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", dollar)
    return f'"{escaped}"'


def _arguments(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="install|remove")
    install = actions.add_parser("install", help="start Upcall now and at every login")
    install.add_argument("--print", action="store_true", help="only print the file that would be written")
    actions.add_parser("remove", help="stop starting Upcall at every login")


COMMAND = Command(_service, _arguments, examples="  upcall service install\n  upcall service install --print")
