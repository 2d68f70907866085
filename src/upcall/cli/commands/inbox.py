"""`upcall inbox`: a link that lets your browser in."""

import sys
from argparse import ArgumentParser, Namespace
from urllib.parse import urlsplit

from upcall.cli.client import Client
from upcall.cli.command import Command, print_json, takes_json
from upcall.cli.render.terminal import is_terminal

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def _inbox(args: Namespace) -> int:
    link = Client().post("/v1/sign-in-links", {})
    if args.json:
        print_json(link)
        return 0
    print(link["url"], flush=True)
    if args.qr:
        print(_code(link["url"]), end="", flush=True)
        if urlsplit(link["url"]).hostname in LOOPBACK:
            print(
                "A phone cannot reach this machine under that address: set public_url, or host, in upcall.toml.",
                file=sys.stderr,
            )
    if is_terminal(sys.stdout):
        minutes = link["expires_in"] // 60
        print(f"It works once, within {minutes} minutes.", file=sys.stderr)
        if not args.print and not args.qr:
            _open(link["url"])
    return 0


def _code(url: str) -> str:
    """An address as a QR code, drawn with half blocks; on a terminal always in black and white."""
    from io import StringIO

    import segno

    drawn = StringIO()
    segno.make(url, error="l", micro=False).terminal(drawn, compact=True)
    lines = drawn.getvalue().splitlines()
    if is_terminal(sys.stdout):
        lines = [f"\x1b[97;40m{line}\x1b[0m" for line in lines]
    return "".join(f"{line}\n" for line in lines)


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
    parser.add_argument("--qr", action="store_true", help="draw the link as a QR code, for a phone")
    takes_json(parser)


COMMAND = Command(
    _inbox,
    _arguments,
    examples="""\
  upcall inbox                 prints a link and, in a terminal, opens it
  upcall inbox --print         for a browser on another machine
  upcall inbox --qr            for a phone: a code to photograph""",
)
