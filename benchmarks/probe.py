"""A child process that measures what everything durable is made of: one fdatasync, one round trip.

In a process of its own, on asyncio's own loop, so that it measures the same for every benchmark; after a pause, since a
disk and a processor that have just been busy answer faster than those of a person's idle machine.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple, Self, cast

from typing_extensions import override

from benchmarks.bench import PAUSE, child, finish, told

BLOCK = b"\xa5" * 4096
BLOCKS = 1024


class Sample(NamedTuple):
    """Seconds of one 4 KiB fdatasync on an idle disk, and of one asyncio round trip over loopback."""

    sync: float
    trip: float

    @property
    def sum(self) -> float:
        return self.sync + self.trip


class Probe:
    """The parent's side."""

    def __init__(self, folder: Path) -> None:
        self._process = child("probe", str(folder / "synced"))

    def __enter__(self) -> Self:
        for _ in range(5):
            self.sample()
        return self

    def __exit__(self, *_: object) -> None:
        finish(self._process)

    def sample(self) -> Sample:
        """Measure once. Nothing else happens meanwhile."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        sync, trip = told(self._process).split()
        return Sample(float(sync), float(trip))


class _Ping(asyncio.Protocol):
    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._back: asyncio.Future[None] | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @override
    def data_received(self, data: bytes) -> None:
        assert self._back is not None
        self._back.set_result(None)

    async def trip(self) -> float:
        assert self._transport is not None
        self._back = asyncio.get_running_loop().create_future()
        began = time.perf_counter()
        self._transport.write(b"ping")
        await self._back
        return time.perf_counter() - began


def _synced(file: int, number: int) -> float:
    began = time.perf_counter()
    # Over what is there already, as a recycled write-ahead log is written.
    os.pwrite(file, BLOCK, number % BLOCKS * len(BLOCK))
    getattr(os, "fdatasync", os.fsync)(file)
    return time.perf_counter() - began


async def main(path: Path) -> None:
    """For every line of input, measure once and say so."""
    loop = asyncio.get_running_loop()
    echo = child("echo")
    _, ping = await loop.create_connection(_Ping, "127.0.0.1", int(told(echo)))
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(file, BLOCK * BLOCKS, 0)
    os.fsync(file)
    number = 0
    while await asyncio.to_thread(sys.stdin.readline):
        number += 1
        await asyncio.sleep(PAUSE)
        sync = _synced(file, number)
        await asyncio.sleep(PAUSE)
        print(sync, await ping.trip(), flush=True)
    finish(echo)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
