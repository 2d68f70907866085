"""`upcall url`: where the inbox is. Unlike `upcall inbox` it makes no link that signs in."""

from argparse import Namespace

from upcall.cli.client import Client
from upcall.cli.command import Command


def _url(_: Namespace) -> int:
    client = Client()
    print(client.remote.rstrip("/") or _local(client))
    return 0


def _local(client: Client) -> str:
    from upcall.config.settings import load
    from upcall.home.launch import ensure_running

    return load(client.home).public_url.rstrip("/") or ensure_running(client.home).url


COMMAND = Command(
    _url,
    examples="""\
  upcall url                       for scripts, and for a browser that has signed in before
  curl "$(upcall url)/healthz\"""",
)
