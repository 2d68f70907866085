"""A process killed in the middle of writing loses nothing that it acknowledged."""

import subprocess
import sys
from pathlib import Path

from tests.stores.test_sqlite_faults import sound
from upcall.stores.sqlite.store import SqliteStore
from upcall.testing.examples import an_inquiry


def write_until_killed(path: Path, lines: int) -> list[tuple[str, str]]:
    """What a real writer said that it had kept before it was killed without warning."""
    command = [sys.executable, "-m", "tests.stores.busy_writer", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(lines)]
        writer.kill()
        said += writer.stdout.readlines()
    told = [line.split() for line in said if line.endswith("\n")]
    return [(what, name) for what, name in told]


async def test_a_killed_writer_loses_no_acknowledged_write(path: Path) -> None:
    for lines in (100, 1000, 2500):
        told = write_until_killed(path, lines)
        assert len(told) >= lines
        store = await SqliteStore.open(path)
        for what, name in told:
            inquiry = await store.get(name)
            assert what == "asked" or inquiry.state_name == "answered"
        assert sound(path)
        events = await store.events(0, limit=1_000_000)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert {name for _, name in told} <= {event.inquiry for event in events}
        assert (await store.add(an_inquiry(id=f"after {lines}"))).created
        await store.close()
