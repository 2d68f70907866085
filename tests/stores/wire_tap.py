"""Stands between a store and a real PostgreSQL server and cuts or swallows what passes, at the moment that a test names."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.postgres_server import PostgresServer


class WireTap:
    """A Unix socket that leads to the server's. What it does is set by its attributes, at any time."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self._server = server
        self._folder = folder
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.cut_before: bytes | None = None
        """Drop the connection instead of passing these words on to the server, once."""
        self.cut_after: bytes | None = None
        """Pass these words on, and drop the connection when the server has answered, once."""
        self.for_good = False
        """Once something was cut, take no connections until it is started again."""
        self.mute = False
        """Pass nothing of what the server says."""
        self.cuts = 0
        self.has_cut = asyncio.Event()

    def address(self, database: str) -> str:
        """The same database, reached through here."""
        return database.replace(str(self._server.folder), str(self._folder))

    async def start(self) -> None:
        """Begin to take connections."""
        self._listening = await asyncio.start_unix_server(self._join, self._folder / ".s.PGSQL.5432")

    async def stop(self) -> None:
        """Refuse connections and drop those there are."""
        assert self._listening is not None
        self._listening.close()
        for writer in list(self._open):
            writer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(FileNotFoundError):
            (self._folder / ".s.PGSQL.5432").unlink()

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._tasks)

    async def all_gone(self) -> None:
        """Wait until no client is connected."""
        await asyncio.gather(*self._tasks)

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        their_reader, their_writer = await asyncio.open_unix_connection(self._server.folder / ".s.PGSQL.5432")
        sides = {writer, their_writer}
        if self._listening is None or not self._listening.is_serving():
            # It was closed while this one was on its way in.
            for side in sides:
                side.close()
            self._tasks.discard(task)
            return
        self._open |= sides
        doomed = asyncio.Event()
        await asyncio.wait(
            {
                asyncio.create_task(
                    self._pass(reader, their_writer, lambda data: self._to_server(data, doomed))
                ),
                asyncio.create_task(self._pass(their_reader, writer, lambda _: self._to_client(doomed))),
            },
            return_when=asyncio.FIRST_COMPLETED,
        )
        for side in sides:
            side.close()
        self._open -= sides
        self._tasks.discard(task)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        may_pass: Callable[[bytes], bool | None],
    ) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                verdict = may_pass(data)
                if verdict is None:
                    return
                if verdict:
                    writer.write(data)
                    await writer.drain()

    def _to_server(self, data: bytes, doomed: asyncio.Event) -> bool | None:
        if self.cut_before is not None and self.cut_before in data:
            self.cut_before = None
            self._count()
            return None
        if self.cut_after is not None and self.cut_after in data:
            self.cut_after = None
            self._count()
            doomed.set()
        return True

    def _count(self) -> None:
        self.cuts += 1
        self.has_cut.set()
        if self.for_good:
            assert self._listening is not None
            self._listening.close()

    def _to_client(self, doomed: asyncio.Event) -> bool | None:
        return None if doomed.is_set() else not self.mute
