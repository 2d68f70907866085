"""`upcall inbox`: a link that lets your browser in."""

import sys
from argparse import ArgumentParser, Namespace

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.terminal import is_terminal


def _inbox(args: Namespace) -> int:
    link = Client().post("/v1/sign-in-links", {})
    if args.json:
        print_json(link)
        return 0
    print(link["url"], flush=True)
    if is_terminal(sys.stdout):
        minutes = link["expires_in"] // 60
        print(f"It works once, within {minutes} minutes.", file=sys.stderr)
        if not args.print:
            _open(link["url"])
    return 0


def _open(url: str) -> None:
    """Open a browser where there is one with a window; one in the terminal would take the terminal over."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(browser, webbrowser.GenericBrowser) or isinstance(
        browser, webbrowser.BackgroundBrowser
    ):
        browser.open(url)


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--print", action="store_true", help="only print the link, open nothing")
    takes_json(parser)


COMMAND = Command(
    _inbox,
    _arguments,
    examples="""\
  upcall inbox                 prints a link and, in a terminal, opens it
  upcall inbox --print         for a browser on another machine""",
)
