"""The token of a scraper, made as the pages say: it reads numbers, and no door lets it ask or answer."""

import json
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.cli.conftest import TIMEOUT, Program
from upcall.doors.hooks import PATH as HOOKS
from upcall.doors.pipe.http import PATH as PIPES

DOORS = (PIPES, HOOKS, "/mcp", "/sse", "/messages/", "/v1/inquiries")


def status(url: str, token: str, body: bytes | None = None) -> int:
    request = Request(url, body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=TIMEOUT) as reply:
            code: int = reply.status
            return code
    except HTTPError as refused:
        return refused.code


@pytest.mark.promise("doorway/30")
def test_a_monitors_token_reads_metrics_and_no_door_takes_it(upcall: Program) -> None:
    made = upcall("tokens", "create", "--role", "monitor", "--name", "prometheus")
    token = made.stdout.strip()
    assert (made.returncode, token.startswith("upcall_monitor_")) == (0, True)
    url = json.loads((upcall.home / "run.json").read_text())["url"]
    assert status(f"{url}/metrics", token) == 200
    for door in DOORS:
        assert status(url + door, token, b'{"question": "?"}') in {401, 403}, door
    # An agent's pipe that was given it by mistake is refused as well, and says so.
    asked = upcall("ask", "Which cache?", "--timeout", "0", UPCALL_URL=url, UPCALL_TOKEN=token)
    assert asked.returncode not in {0, 12}
    assert "a monitor's token reads metrics and nothing else" in asked.stderr
    assert upcall.json("status")["waiting"] == []
