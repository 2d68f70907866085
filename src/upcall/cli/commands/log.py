"""`upcall log`: what the program of a run has written; with `--follow` until the run is over."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from upcall.cli.client import Client, run_path
from upcall.cli.command import Command, json_text, takes_run
from upcall.cli.render.terminal import Paint, paint
from upcall.domain.text.display import visible

POLL_SECONDS = 60.0
SHOWN_LINES = 5
Line = dict[str, Any]


def log_lines(client: Client, number: int, *, follow: bool, raw: bool = False) -> Iterator[Line]:
    """The lines of a run's log; with `follow`, until the run is over."""
    after, wait = 0, POLL_SECONDS if follow else 0.0
    while True:
        page = client.get(run_path(number, "log"), patience=wait, after=after, wait=f"{wait:g}", raw=int(raw))
        yield from page["lines"]
        # Parts of the output make no lines, so a page without lines is not yet the end.
        if page["over"] or (not follow and page["next_after"] == after):
            return
        after = page["next_after"]


def shown(line: Line, colour: Paint) -> str:
    """A line for people to read."""
    text = visible(line["text"]).rstrip()
    match line["kind"]:
        case "said" | "raw":
            return text
        case "tool":
            return colour.name(f"→ {text}")
        case "result":
            return colour.dim(_cut(text))
        case "error" | "refused" | "failed":
            return colour.bad(f"{line['kind']}: {text}")
        case kind:
            return colour.dim(f"[{visible(kind)}] {text}")


def _cut(text: str) -> str:
    """The first lines of a tool's result; `--raw` has all of it."""
    lines = text.split("\n")
    more = [f"  … {len(lines) - SHOWN_LINES} lines more"] if len(lines) > SHOWN_LINES else []
    return "\n".join([*(f"  {line}" for line in lines[:SHOWN_LINES]), *more])


def _log(args: Namespace) -> int:
    client = Client()
    colour = paint()
    for line in log_lines(client, args.run, follow=args.follow, raw=args.raw):
        if args.json:
            print(json_text(line), flush=args.follow)
        else:
            print(line["text"] if args.raw else shown(line, colour), flush=args.follow)
    return 0


def _arguments(parser: ArgumentParser) -> None:
    takes_run(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="follow until the run is over")
    parser.add_argument("--raw", action="store_true", help="exactly as it was written")
    parser.add_argument("--json", action="store_true", help="print JSON, one object on each line")


COMMAND = Command(
    _log,
    _arguments,
    examples="""\
  upcall log 42
  upcall log 42 -f                 until it is over
  upcall log 42 --raw > run.jsonl""",
)
