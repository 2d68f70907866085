"""`upcall doctor`: what works, what does not, and what to do about it."""

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from upcall.cli.command import Command, print_json, seconds, takes_json
from upcall.cli.doctor.findings import FAILED, Finding, Patient, document, lines
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
    patients = [Patient(f"Upcall, {home.path}", list(doctor_home.look(home)))]
    config = _config(home)
    patients += [_agent(name, home, config, args) for name in args.agents or CLIENTS]
    if args.json:
        print_json(document(patients))
    else:
        print("\n".join(lines(patients, paint(), width())))
    return 0 if all(patient.is_well for patient in patients) else 1


def _config(home: Home) -> Config:
    from upcall.config.settings import load
    from upcall.domain.errors import InvalidSetting

    try:
        return load(home)
    except InvalidSetting:
        return Config()  # what is wrong with them has been found already


def _agent(name: str, home: Home, config: Config, args: Namespace) -> Patient:
    from upcall.cli.doctor import agents as doctor_agents
    from upcall.setup.clients import Place

    place = Place(home=Path.home(), environment=os.environ)
    wanted = name in args.agents
    patient = Patient(name, list(doctor_agents.look(name, place, home, config, wanted=wanted)))
    found = {finding.name: finding.state for finding in patient.findings}
    # Of agents that nobody named, only those are asked that are there and know us.
    if args.ask and patient.is_well and (wanted or "patience" in found):
        patient.findings.append(_prove(name, config, args.within))
    return patient


def _prove(name: str, config: Config, within: float) -> Finding:
    from upcall.agents.catalogue import agent_named
    from upcall.cli.client import Client
    from upcall.cli.doctor.proof import Proof
    from upcall.domain.errors import UpcallError

    print(f"upcall: {name} is asked to ask …", file=sys.stderr)
    try:
        return Proof(name, agent_named(name, config.agents).program(), Client(), within).find()
    except UpcallError as error:
        return Finding("test question", FAILED, error.message, error.hint or "")


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "agents", metavar="AGENT", nargs="*", help="claude, codex, opencode, gemini; all if none"
    )
    parser.add_argument(
        "--ask", action="store_true", help="have each really ask a test question, with its model"
    )
    parser.add_argument(
        "--within", type=seconds, default=PATIENCE, metavar="TIME", help="how long that may take (3m)"
    )
    takes_json(parser)


COMMAND = Command(
    _doctor,
    _arguments,
    examples="""\
  upcall doctor                    looks at everything, and changes nothing
  upcall doctor claude --ask       also makes Claude Code ask a test question, which a script answers
  upcall doctor --json
Exit code 0 if nothing has failed, 1 otherwise.""",
    mixed=True,
)
