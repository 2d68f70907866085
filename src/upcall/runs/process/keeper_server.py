"""The daemon's side of keepers: a listener on loopback that they find again after a restart."""

import asyncio
import json
import logging
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from upcall.domain.errors import StorageError
from upcall.home.files import Home
from upcall.runs.process.keeper import ADDRESS_FILE, DAEMON, KEEPER, proof, proves

log = logging.getLogger("upcall.runs")


@dataclass(slots=True, kw_only=True)
class KeeperConnection:
    """One keeper, connected or gone. `grew` is set whenever there is more to read, and once it is over."""

    run: int
    start: int
    writer: asyncio.StreamWriter | None = None
    grew: asyncio.Event = field(default_factory=asyncio.Event)
    exit_code: int | None = None
    gone: bool = False

    def end(self) -> None:
        """Have the process ended, with everything that it has started."""
        self._tell({"end": True})

    def write(self, text: str) -> None:
        """Give the process something to read."""
        self._tell({"write": text})

    def close(self) -> None:
        """Tell the process that there is nothing more to read."""
        self._tell({"close": True})

    def _tell(self, message: dict[str, Any]) -> None:
        if self.writer is not None and not self.writer.is_closing():
            self.writer.write(json.dumps(message).encode() + b"\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """How a keeper introduces itself."""

    run: int
    start: int
    nonce: str
    proof: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKeeper:
    """The run of a keeper: its key, and whether this is the keeper of its newest process."""

    key: str
    is_newest: bool


class KeeperOwner(Protocol):
    """The supervisor of the runs that keepers belong to."""

    async def known(self, hello: Hello) -> KnownKeeper | None:
        """Look up the run of a keeper; None if there is none."""
        ...

    def connected(self, keeper: KeeperConnection) -> None:
        """Follow a keeper that has proved itself."""
        ...


class KeeperServer:
    """Listens for keepers; each is handed to its owner once it has proved itself."""

    def __init__(self, home: Home, owner: KeeperOwner) -> None:
        self._folder = home.path / "runs"
        self._home = home
        self._owner = owner
        self._is_closed = False
        self._server: asyncio.Server | None = None
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self) -> None:
        """Listen, and say where."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self._home.write_private(self._folder / ADDRESS_FILE, json.dumps({"port": port}))

    async def close(self) -> None:
        """Let go of every keeper: they stay with their agents and look for the next daemon."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        for writer in self._serving.values():
            writer.close()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_closed:
            # The connection was accepted before the close, and its task begins after it.
            writer.close()
            return
        task = asyncio.current_task()
        assert task is not None  # a callback of a server runs in a task of its own
        self._serving[task] = writer
        keeper: KeeperConnection | None = None
        try:
            with suppress(OSError, ValueError, KeyError, TypeError):
                told = json.loads(await reader.readline())
                hello = Hello(
                    run=int(told["run"]),
                    start=int(told["start"]),
                    nonce=str(told["nonce"]),
                    proof=str(told["proof"]),
                )
                try:
                    known = await self._owner.known(hello)
                except StorageError as problem:
                    # It will be back, and the database too.
                    log.warning("a keeper of run %s cannot be looked up: %s", hello.run, problem.message)
                    return
                if known is None or not proves(hello.proof, known.key, KEEPER, hello.nonce):
                    log.warning("a connection that is no keeper of run %s was refused", hello.run)
                    return
                ours: dict[str, Any] = {"proof": proof(known.key, DAEMON, hello.nonce)}
                writer.write(json.dumps(ours | ({} if known.is_newest else {"end": True})).encode() + b"\n")
                if not known.is_newest:
                    log.warning("an outdated keeper of run %s was told to end", hello.run)
                    return
                keeper = KeeperConnection(run=hello.run, start=hello.start, writer=writer)
                keeper.grew.set()
                self._owner.connected(keeper)
                await _hear(reader, keeper)
        finally:
            del self._serving[task]
            if keeper is not None:
                keeper.gone = True
                keeper.grew.set()
            writer.close()


async def _hear(reader: asyncio.StreamReader, keeper: KeeperConnection) -> None:
    while line := await reader.readline():
        told = json.loads(line)
        if "ended" in told:
            keeper.exit_code = int(told["ended"])
        keeper.grew.set()
