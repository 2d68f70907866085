"""`upcall answer`, `reject`, `snooze`, `extend`: what people do with a question."""

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from typing import Any

from upcall.cli.client import Client, inquiry_path, run_path
from upcall.cli.command import Command, is_run, ref, seconds, takes_json, takes_ref
from upcall.cli.commands.replies import reply_values
from upcall.cli.failures import CommandFailed
from upcall.cli.naming import asked_by
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.fate import fate
from upcall.cli.render.inquiries import answer_command, given, resolution, takes_force, votes
from upcall.domain.text.times import moment, span

USAGE = 2
LOST = 15
"""Somebody else's resolution stands."""

POLL_SECONDS = 60.0


def _answer(args: Namespace) -> int:
    # The picker lists what is open; what has expired is asked for in one line.
    if not args.values and not (args.force and args.ref and sys.stdin.isatty()):
        return _pick(args)
    client = Client()
    name = asked_by(client, args.ref, force=args.force)
    values = reply_values(client.get(inquiry_path(name)), args.values)
    latest = client.latest_event() if args.wait else 0
    body: dict[str, Any] = {
        "choices": values,
        "force": args.force,
        "via": "terminal",
        "key": os.urandom(16).hex(),
    }
    if args.always:
        body["remember"] = {"as": args.always} | ({"for": args.span} if args.span else {})
    reply = client.post(inquiry_path(name, "answer"), body)
    inquiry = reply["inquiry"]
    if not reply["accepted"]:
        return _lost(reply, args)
    if inquiry["state"] == "open":
        return settled(reply, args, f"You have approved {inquiry['ref']}: {votes(inquiry)}. It stays open.")
    if (
        is_run(args.ref)
        and not args.json
        and (run := client.get(run_path(args.ref)))["exit_code"] is not None
    ):
        return _resumed(client, run, wait=args.wait)
    if args.wait:
        if not args.json:
            print(
                f"Answered {inquiry['ref']}: {given(inquiry)}. Waiting for the agent to take it …", flush=True
            )
        inquiry = _until_collected(client, inquiry, latest)
    if args.json:
        _print({**reply, "inquiry": inquiry})
    elif args.wait:
        print("The agent has it.")
    else:
        kept = " It is remembered: see `upcall rules list`." if args.always else ""
        print(f"Answered {inquiry['ref']}: {given(inquiry)}. {fate(reply)}{kept}")
    return 0


def _resumed(client: Client, run: dict[str, Any], *, wait: bool) -> int:
    """The run's process has ended, so the answer starts another one."""
    number = run["number"]
    print(drawing_for(client).resuming(number), flush=True)
    if not wait:
        print(f"Follow it with: upcall log {number} -f", file=sys.stderr)
        return 0
    from upcall.cli.commands.run import followed

    return followed(client, run, as_json=False)


def _pick(args: Namespace) -> int:
    if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed(
            "`upcall answer` needs a ref and a value where there is no terminal",
            hint='`upcall status` lists what waits; then for example `upcall answer a7 "yes"`',
            exit_code=USAGE,
        )
    from upcall.cli.picker.screen import pick

    client = Client()
    return pick(client, None if args.ref is None else asked_by(client, args.ref))


def _answer_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "ref",
        metavar="REF|RUN",
        nargs="?",
        type=ref,
        help="which question, or the number of the run that asks it; without it, pick from a list",
    )
    parser.add_argument(
        "values",
        metavar="VALUE",
        nargs="*",
        help="a number, an option or your own words; - reads them from input; without it, you are asked",
    )
    parser.add_argument("--force", action="store_true", help="answer although it has expired")
    parser.add_argument(
        "--always",
        nargs="?",
        const="exact",
        choices=("exact", "prefix", "tool", "directory"),
        help="approve, and remember a rule: the same action, the same first words, the tool, or the tool in this directory",
    )
    parser.add_argument(
        "--for", dest="span", metavar="SPAN", type=seconds, help="how long --always holds (30d)"
    )
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait until the agent has the answer; where a run has to be resumed, follow it to its end",
    )
    takes_json(parser)


def _reject(args: Namespace) -> int:
    body = {"reason": args.reason, "via": "terminal", "key": os.urandom(16).hex()}
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "reject"), body)
    because = f" because: {args.reason}" if args.reason else ""
    return settled(reply, args, f"Rejected {args.ref}{because}. {fate(reply)}")


def _reject_arguments(parser: ArgumentParser) -> None:
    takes_ref(parser, or_run=True)
    parser.add_argument("--reason", help="what the agent is told")
    takes_json(parser)


def _snooze(args: Namespace) -> int:
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "snooze"), {"seconds": args.span})
    return settled(reply, args, f"Snoozed {args.ref} for {span(args.span)}. It stays open.")


def _extend(args: Namespace) -> int:
    client = Client()
    reply = client.post(inquiry_path(asked_by(client, args.ref), "extend"), {"seconds": args.span})
    left = span(moment(reply["inquiry"]["expires_at"]) - time.time() + 0.5)
    return settled(reply, args, f"Extended {args.ref}: it expires in {left}.")


def _span_arguments(parser: ArgumentParser) -> None:
    takes_ref(parser, or_run=True)
    parser.add_argument("span", metavar="SPAN", type=seconds, help="like 90s, 10m, 1h, 2d")
    takes_json(parser)


def settled(reply: dict[str, Any], args: Namespace, sentence: str) -> int:
    """Print how it went: the sentence, or what stands instead."""
    if not reply["accepted"]:
        return _lost(reply, args)
    if args.json:
        _print(reply)
    else:
        print(sentence)
    return 0


def _lost(reply: dict[str, Any], args: Namespace) -> int:
    inquiry = reply["inquiry"]
    if args.json:
        _print(reply)
    elif takes_force(inquiry) and "force" in args:
        raise CommandFailed(
            f"{inquiry['ref']} {resolution(inquiry, time.time())}",
            hint=f"{answer_command(inquiry)} --force, to answer it late",
            exit_code=LOST,
        )
    elif inquiry["state"] == "open":
        print(f"You have approved {inquiry['ref']} before: {votes(inquiry)}. Nothing was changed.")
    else:
        print(f"{inquiry['ref']} {resolution(inquiry, time.time())}. Nothing was changed.")
    return LOST


def _until_collected(client: Client, inquiry: dict[str, Any], after: int) -> dict[str, Any]:
    while inquiry["answer"]["collected_at"] is None:
        events = client.get("/v1/events", patience=POLL_SECONDS, after=after, wait=POLL_SECONDS)
        after = events["next_after"]
        for event in events["items"]:
            if event["inquiry"] != inquiry["id"]:
                continue
            match event["type"]:
                case "collected":
                    inquiry = client.get(inquiry_path(inquiry["id"]))
                case "forwarded":
                    print(
                        f"Forwarded to the agent: run {event['data']['run']} is brought back.",
                        file=sys.stderr,
                    )
                case "resume_failed":
                    number = event["data"]["run"]
                    raise CommandFailed(
                        f"the agent could not be brought back: {event['data']['error']}",
                        hint=f"the answer is kept; try again with: upcall retry {number}",
                    )
                case _:
                    pass
    return inquiry


def _print(document: dict[str, Any]) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False))


COMMANDS = {
    "answer": Command(
        _answer,
        _answer_arguments,
        examples="""\
  upcall answer                          pick a question from a list and answer it
  upcall answer a7                       this question, at a prompt; nothing gets into the shell's history
  upcall answer a7 "Redis"               an option by its name
  upcall answer a7 1                     an option by its number
  upcall answer a7 1 3                   several options, where several are allowed
  upcall answer a7 "yes" "port 8080"     two questions, one value each
  upcall answer a7 "Redis" --force       although it has expired
  upcall answer a7 approve --always prefix --for 7d   and all that begins like this command, for a week
  upcall answer 42 "Redis"               what run 42 asks
exit codes: 0 accepted, 15 somebody else's answer stands (it is printed), 2 misuse, 1 anything else""",
        mixed=True,
    ),
    "reject": Command(
        _reject, _reject_arguments, examples='  upcall reject a7 --reason "ask me after the release"'
    ),
    "snooze": Command(_snooze, _span_arguments, examples="  upcall snooze a7 1h"),
    "extend": Command(_extend, _span_arguments, examples="  upcall extend a7 2d"),
}
