"""`upcall doctor`: checks the installation and the agents, and prints the next steps."""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from upcall.cli.command import Command, print_json, seconds, takes_json
from upcall.cli.doctor.checks import FAILED, Check, CheckedSubject, document, lines
from upcall.cli.render.terminal import paint, width
from upcall.config.settings import Config
from upcall.home.files import Home, default_home

PATIENCE = 180.0


def _doctor(args: Namespace) -> int:
    from upcall.agents.catalogue import UnknownProgram
    from upcall.cli.doctor import home as doctor_home
    from upcall.setup.clients import CLIENTS

    for name in args.agents:
        if name not in CLIENTS:
            raise UnknownProgram(name, CLIENTS)
    home = default_home()
    subjects = [CheckedSubject(f"Upcall, {home.path}", list(doctor_home.look(home)))]
    config = _config(home)
    subjects += [_agent(name, home, config, args) for name in args.agents or CLIENTS]
    if args.json:
        print_json(document(subjects))
    else:
        print("\n".join(lines(subjects, paint(), width())))
    return 0 if all(subject.is_well for subject in subjects) else 1


def _config(home: Home) -> Config:
    from upcall.config.settings import load
    from upcall.domain.errors import InvalidSetting

    try:
        return load(home)
    except InvalidSetting:
        return Config()  # a check has reported what is wrong


def _agent(name: str, home: Home, config: Config, args: Namespace) -> CheckedSubject:
    from upcall.cli.doctor import agents as doctor_agents
    from upcall.setup.clients import UserFolders

    place = UserFolders(home=Path.home(), environment=os.environ)
    wanted = name in args.agents
    subject = CheckedSubject(name, list(doctor_agents.look(name, place, home, config, wanted=wanted)))
    found = {check.name: check.state for check in subject.checks}
    # Without names, only agents that are installed and set up get the test question.
    if args.ask and subject.is_well and (wanted or "patience" in found):
        subject.checks.append(_prove(name, config, args.within))
    return subject


def _prove(name: str, config: Config, within: float) -> Check:
    from upcall.agents.catalogue import agent_named
    from upcall.cli.client import Client
    from upcall.cli.doctor.proof import Proof
    from upcall.domain.errors import UpcallError

    print(f"upcall: {name} gets a test question …", file=sys.stderr)
    try:
        return Proof(name, agent_named(name, config.agents).program(), Client(), within).find()
    except UpcallError as error:
        return Check("test question", FAILED, error.message, error.hint or "")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "agents", metavar="AGENT", nargs="*", help="claude, codex, opencode, gemini; all if none"
    )
    parser.add_argument(
        "--ask", action="store_true", help="let each agent ask a real test question, with its model"
    )
    parser.add_argument(
        "--within", type=seconds, default=PATIENCE, metavar="TIME", help="the limit for a test question (3m)"
    )
    takes_json(parser)


COMMAND = Command(
    _doctor,
    _arguments,
    examples="""\
  upcall doctor                    checks everything, and changes nothing
  upcall doctor claude --ask       Claude Code also asks a test question, and a script answers it
  upcall doctor --json
Exit codes: 0 if nothing has failed, 1 otherwise""",
    mixed=True,
)
