"""`upcall answer`: at a prompt, from a list, or with the values in the command."""

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from upcall.cli.client import PAGE, Client, inquiry_path, run_path
from upcall.cli.command import Command, is_run, print_json, ref, seconds, takes_json
from upcall.cli.failures import CommandFailed
from upcall.cli.render.drawing import drawing_for
from upcall.cli.render.fate import fate
from upcall.cli.render.inquiries import Inquiry, answer_command, given, resolution, takes_force, votes
from upcall.cli.render.runs import OVER, Run, ending
from upcall.cli.replies import reply_values
from upcall.cli.uploads import uploaded
from upcall.domain.text.display import one_line
from upcall.home.program import program

USAGE = 2
LOST = 15
"""Another resolution stands."""

POLL_SECONDS = 60.0


def _answer(args: Namespace) -> int:
    # The picker lists open questions; an expired one is answered at a prompt.
    if not args.values and not args.content and not (args.force and args.ref and sys.stdin.isatty()):
        return _pick(args)
    client = Client()
    name = asked_by(client, args.ref, force=args.force)
    said = _content(args) if args.content else _said(client.get(inquiry_path(name)), args)
    latest = client.latest_event() if args.wait else 0
    body: dict[str, Any] = {
        **said,
        "force": args.force,
        "via": "terminal",
        "key": os.urandom(16).hex(),
    }
    if args.note:
        body["note"] = args.note
    if args.files:
        body["files"] = [uploaded(Path(name)) for name in args.files]
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
        print_json({**reply, "inquiry": inquiry})
    elif args.wait:
        print("The agent has it.")
    else:
        kept = f" It is remembered: see `{program()} rules list`." if args.always else ""
        print(f"Answered {inquiry['ref']}: {given(inquiry)}. {fate(reply)}{kept}")
    return 0


def _said(inquiry: Inquiry, args: Namespace) -> dict[str, Any]:
    said: dict[str, Any] = {"choices": reply_values(inquiry, args.values)}
    if args.edits:
        from upcall.cli.edited_input import edited_input

        said["input"] = edited_input(inquiry, args.edits)
    return said


def _content(args: Namespace) -> dict[str, Any]:
    if args.values:
        raise CommandFailed("--content is the whole answer", hint="leave out the values", exit_code=USAGE)
    try:
        found = json.loads(args.content)
    except ValueError as error:
        hint = """for example --content '{"port": 8080}'"""
        raise CommandFailed(f"--content is not JSON: {error}", hint=hint, exit_code=USAGE) from None
    return {"content": found}


def _resumed(client: Client, run: dict[str, Any], *, wait: bool) -> int:
    """Report that the answer starts a new process of a run, since its last one has ended."""
    number = run["number"]
    print(drawing_for(client).resuming(number), flush=True)
    if not wait:
        print(f"Follow it with: {program()} log {number} -f", file=sys.stderr)
        return 0
    from upcall.cli.commands.run import followed

    return followed(client, run, as_json=False)


def _pick(args: Namespace) -> int:
    if args.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandFailed(
            "`upcall answer` needs a ref and a value when it has no terminal",
            hint='list the open questions with `upcall status`; then, for example, `upcall answer a7 "yes"`',
            exit_code=USAGE,
        )
    from upcall.cli.picker.screen import pick

    client = Client()
    return pick(client, None if args.ref is None else asked_by(client, args.ref))


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "ref",
        metavar="REF|RUN",
        nargs="?",
        type=ref,
        help="the question, or the number of the run that asks it; without it, pick from a list",
    )
    parser.add_argument(
        "values",
        metavar="VALUE",
        nargs="*",
        help="a number, an option or your own words; - reads standard input; without it, a prompt asks you",
    )
    parser.add_argument(
        "--content", metavar="JSON", help="a form filled in, as the object that its schema describes"
    )
    parser.add_argument("--note", metavar="TEXT", help="words beside the choice; the agent is told both")
    parser.add_argument(
        "--edit",
        dest="edits",
        metavar="[FIELD=]VALUE",
        action="append",
        default=[],
        help="approve the action with this command, or this value of a field, instead of what was asked for",
    )
    parser.add_argument(
        "--file",
        dest="files",
        metavar="PATH",
        action="append",
        default=[],
        help="a picture or file for the agent, up to 4 of 5 MiB: PNG, JPEG, GIF, WebP, PDF, ZIP or plain text",
    )
    parser.add_argument("--force", action="store_true", help="answer a question that has expired")
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
        help="wait until the agent has the answer; follow a run that is resumed to its end",
    )
    takes_json(parser)


def asked_by(client: Client, name: str, *, force: bool = False) -> str:
    """The question with a name: that of the ref, or the open question of the run with that number.

    With `force`, the latest expired question of a run that has no open one.

    Raises:
        CommandFailed: if the run has no open question, or several.
    """
    if not is_run(name):
        return name
    run: Run = client.get(run_path(name))
    refs: list[str] = run["inquiries"]
    if len(refs) == 1:
        return refs[0]
    if refs:
        raise _which(client, run)
    expired = _last_expired(client, run)
    if expired is None or not force:
        raise _asks_nothing(run, expired)
    ref: str = expired["id"]
    return ref


def _which(client: Client, run: Run) -> CommandFailed:
    commands = [answer_command(client.get(inquiry_path(ref))) for ref in run["inquiries"]]
    return CommandFailed(
        f"run {run['number']} has {len(commands)} open questions",
        hint=f"answer one of them: {', or '.join(commands)}",
    )


def _asks_nothing(run: Run, expired: Inquiry | None) -> CommandFailed:
    number = run["number"]
    if expired is not None:
        hint = f"{answer_command(expired, str(number))} --force, to answer its expired question"
    else:
        hint = f'upcall say {number} "…" sends it a message'
    if run["state"] in OVER:
        return CommandFailed(f"run {number} has no open question; it {ending(run)}", hint=hint)
    return CommandFailed(f"run {number} has no open question", hint=hint)


def _last_expired(client: Client, run: Run) -> Inquiry | None:
    found: list[Inquiry] = []
    for state in ("expired", "failed"):
        found += client.get("/v1/inquiries", state=state, run=run["number"], limit=PAGE)["items"]
    return max(filter(takes_force, found), key=lambda inquiry: str(inquiry["asked_at"]), default=None)


def settled(reply: dict[str, Any], args: Namespace, sentence: str) -> int:
    """Print the sentence, or the resolution that stands instead; return the exit code."""
    if not reply["accepted"]:
        return _lost(reply, args)
    if args.json:
        print_json(reply)
    else:
        print(sentence)
    return 0


def _lost(reply: dict[str, Any], args: Namespace) -> int:
    inquiry = reply["inquiry"]
    if args.json:
        print_json(reply)
    elif takes_force(inquiry) and "force" in args:
        raise CommandFailed(
            f"{inquiry['ref']} {resolution(inquiry, time.time())}",
            hint=f"{answer_command(inquiry)} --force, to answer it late",
            exit_code=LOST,
        )
    elif inquiry["held"]:
        who = one_line(inquiry["held"]["by"])
        print(f"{who} has just decided {inquiry['ref']}, and can still undo that. Nothing was changed.")
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
                        f"Forwarded to the agent: run {event['data']['run']} is resumed.",
                        file=sys.stderr,
                    )
                case "resume_failed":
                    number = event["data"]["run"]
                    raise CommandFailed(
                        f"the agent could not be resumed: {event['data']['error']}",
                        hint=f"the answer is kept; try again with: upcall retry {number}",
                    )
                case _:
                    pass
    return inquiry


COMMAND = Command(
    _answer,
    _arguments,
    examples="""\
  upcall answer                          pick a question from a list and answer it
  upcall answer a7                       this question, at a prompt; nothing gets into the shell's history
  upcall answer a7 "Redis"               an option by its name
  upcall answer a7 1                     an option by its number
  upcall answer a7 1 3                   several options, where several are allowed
  upcall answer a7 "yes" "port 8080"     two questions, one value each
  upcall answer a7 --content '{"port": 8080}'   a form, as JSON
  upcall answer a7 Redis --note "but only for sessions"   a choice, and words beside it
  upcall answer a7 approve --edit "rm -rf build"   the action, with another command than was asked for
  upcall answer a7 "like this" --file sketch.png   words and a picture
  upcall answer a7 "Redis" --force       a question that has expired
  upcall answer a7 approve --always prefix --for 7d   and every command with the same beginning, for a week
  upcall answer 42 "Redis"               the question of run 42
exit codes: 0 accepted, 15 another answer stands (it is printed), 2 wrong use, 1 any other failure""",
    mixed=True,
)
