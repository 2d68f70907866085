"""`upcall ask`: asks a person and waits. Only the answer goes to standard output."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from upcall.cli.client import ASKER, Client
from upcall.cli.command import Command, seconds
from upcall.cli.commands.wait import EXIT_CODES, finish, wait_options
from upcall.cli.failures import CommandFailed, DaemonRefused
from upcall.cli.render.inquiries import answer_command
from upcall.cli.uploads import content_of, upload, uploaded
from upcall.client.folder import current_folder

USAGE = 2
LONGEST_CONTEXT, SHOWN_OF_LONG = 16 * 1024, 12 * 1024
"""Bytes of standard input that are a context; of more, the beginning is, and all of it is attached."""

PIPED = "standard-input.txt"


def _ask(args: Namespace) -> int:
    body = _body(args)
    client = Client(ASKER)
    try:
        inquiry = client.post("/v1/inquiries", body)
    except DaemonRefused as refusal:
        if refusal.reply in {"invalid_inquiry", "invalid_request"}:
            # The hint has an example in JSON, which is of no use on a command line.
            hint = "upcall ask --help" if "{" in (refusal.hint or "") else refusal.hint
            raise CommandFailed(refusal.message, hint=hint, exit_code=USAGE) from None
        raise
    return finish(client, inquiry, args, _introduction(inquiry, args))


def _introduction(inquiry: dict[str, Any], args: Namespace) -> str:
    said: list[str] = []
    if inquiry["state"] == "open" and args.timeout != 0:
        said.append(
            f"Asked {inquiry['ref']}. Waiting for a person; they answer with: {answer_command(inquiry)}"
        )
    if inquiry["redacted"]:
        said.append(f"{inquiry['redacted']} secret(s) in the question were masked before it was shown.")
    return "\n".join(said)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("question", metavar="QUESTION", help="the question; - reads it from standard input")
    parser.add_argument(
        "-o",
        "--option",
        dest="options",
        action="append",
        default=[],
        metavar="LABEL[=DESCRIPTION]",
        help="a suggested answer; can be repeated",
    )
    parser.add_argument("--multi", action="store_true", help="allow several options")
    parser.add_argument("--no-custom", action="store_true", help="allow only the options, no free text")
    parser.add_argument(
        "--approval", action="store_true", help="ask for a yes or a no; anything else is a no"
    )
    parser.add_argument(
        "--schema",
        metavar="JSON|@FILE",
        help="ask for a typed answer: a JSON Schema of a flat object; the answer is printed as JSON",
    )
    parser.add_argument("--header", help="a few words that name the question")
    parser.add_argument(
        "--context",
        metavar="TEXT|@FILE",
        help="what the person needs to know for the decision; without it, what stands on standard input",
    )
    parser.add_argument(
        "--attach", action="append", default=[], metavar="FILE", help="a file to show; can be repeated"
    )
    parser.add_argument("--ttl", type=seconds, metavar="SPAN", help="how long it can be answered: 24h")
    parser.add_argument("--default", metavar="LABEL", help="the answer when the ttl ends without one")
    parser.add_argument(
        "--label",
        action="append",
        dest="labels",
        metavar="WORD",
        help="a word for routes to match; can be repeated",
    )
    parser.add_argument("--secret", action="store_true", help="keep the answer out of logs and lists")
    parser.add_argument("--session", help="the session that asks, where one token serves several")
    parser.add_argument("--key", help="a repeated ask with the same key rejoins its question")
    wait_options(parser)


def _body(args: Namespace) -> dict[str, Any]:
    """The request's body. Its key makes a repeated request the same question, after a crash for example."""
    _check(args)
    context, attached = _given(args)
    fields: dict[str, Any] = {
        "question": sys.stdin.read().strip() if args.question == "-" else args.question,
        "options": [_option(word) for word in args.options] or None,
        "response_schema": _schema(args.schema),
        "multiSelect": args.multi or None,
        "custom": not args.no_custom,
        "labels": args.labels,
        "secret": args.secret,
        "request_key": args.key or f"ask-{os.urandom(16).hex()}",
        "workspace": current_folder(),
        "header": args.header,
        "ttl": args.ttl,
        "default": args.default,
        "session": args.session,
        "kind": "approval" if args.approval else None,
        "context": context,
        "attachments": [*(uploaded(Path(name)) for name in args.attach), *attached] or None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _check(args: Namespace) -> None:
    if args.approval and (args.options or args.multi):
        raise _misuse("an approval has no options of its own", "leave out --option and --multi")
    if args.schema and (args.options or args.approval or args.default):
        raise _misuse("a schema says what is asked", "leave out --option, --approval and --default")
    if args.multi and not args.options:
        raise _misuse("--multi needs options", "add some with -o LABEL")
    if args.no_custom and not args.options and not args.approval:
        raise _misuse("--no-custom needs options", "add some with -o LABEL")


def _schema(word: str | None) -> object:
    if word is None:
        return None
    text = content_of(Path(word[1:])).decode("utf-8", "replace") if word.startswith("@") else word
    try:
        return json.loads(text)
    except ValueError as error:
        raise _misuse(f"--schema is not JSON: {error}", "give a JSON Schema, or @FILE with one") from None


def _option(word: str) -> dict[str, str]:
    label, _, description = word.partition("=")
    return {"label": label.strip(), "description": description.strip()}


def _given(args: Namespace) -> tuple[str | None, list[dict[str, str]]]:
    """The context, and what is attached because it is too long for one: --context, else what stands on standard input."""
    if args.context is not None or args.question == "-":
        return _context(args.context), []
    from upcall.cli.standard_input import piped

    content = piped()
    text = (content or b"").decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    if not text.strip():
        return None, []
    if len(text.encode()) <= LONGEST_CONTEXT:
        return text, []
    beginning = text.encode()[:SHOWN_OF_LONG].decode("utf-8", "ignore")
    note = f"[the first {SHOWN_OF_LONG // 1024} KiB; all of it is attached as {PIPED}]"
    return f"{beginning}\n{note}", [upload(PIPED, content or b"")]


def _context(word: str | None) -> str | None:
    if word is None or not word.startswith("@"):
        return word
    return content_of(Path(word[1:])).decode("utf-8", "replace")


def _misuse(message: str, hint: str) -> CommandFailed:
    return CommandFailed(message, hint=hint, exit_code=USAGE)


COMMAND = Command(
    _ask,
    _arguments,
    examples=f"""\
  upcall ask "Deploy where?" -o staging -o "production=careful, live users"
  upcall ask "Which checks?" -o lint -o tests -o types --multi
  upcall ask "Drop the table?" --approval --context @migration.sql && ./drop.sh
  upcall ask "What is the API key?" --secret
  upcall ask "Which port?" --schema @port.schema.json
  git diff | upcall ask "Apply this?" --approval --timeout 10m --ttl 24h
{EXIT_CODES}""",
)
