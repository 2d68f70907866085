"""The only place where the parts meet: settings in, a running broker with its doors out."""

import os
import pwd
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.types import ASGIApp

from upcall import __version__
from upcall.access import Access, digest
from upcall.broker import Broker, Policy
from upcall.config import Config
from upcall.domain.errors import InvalidSetting
from upcall.domain.inquiry import OnExpiry
from upcall.domain.reading import ReadingRules
from upcall.domain.roles import Caller, Role
from upcall.doors.late import LateDoor
from upcall.doors.pipe_http import PipeDoor
from upcall.doors.pipe_server import PipeServer
from upcall.doors.tools import Tools
from upcall.home import Home
from upcall.pacing import Pacing
from upcall.stores.sqlite import SqliteStore
from upcall.web.app import WebSettings, create_app
from upcall.web.sign_in_links import sign_in_path

LOCAL_AGENT = "local"
"""What agents on this machine are called when they bring no token of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A running broker and everything that leads to it."""

    url: str
    app: ASGIApp
    broker: Broker
    pipes: PipeServer
    access: Access
    public_url: str
    agent_token: str

    def sign_in_link(self) -> str:
        """A fresh link that lets the owner in, once."""
        code = self.access.codes.issue(Caller(name=_owner(), role=Role.ADMIN))
        return f"{self.public_url or self.url}{sign_in_path(code)}"

    async def settle(self, *, end: bool) -> None:
        """Give everybody who waits a typed result. Pipes survive a restart, so they are told only of an end."""
        await self.pipes.close(end=end)
        await self.broker.close()


@asynccontextmanager
async def assembled(home: Home, config: Config, url: str) -> AsyncIterator[Assembly]:
    """Put everything together for one home; it is taken apart in the opposite order."""
    store = await SqliteStore.open(database_path(home, config))
    try:
        access = Access(store)
        await access.load()
        await _adopt_local_tokens(home, access)
        broker = Broker(store, policy(config), pacing=Pacing(**asdict(config.rates)))
        await broker.start()
        tools = Tools(broker, slice_seconds=config.slice)
        pipes = PipeServer(tools, access)
        await pipes.start()
        door = LateDoor(tools, access)
        app = create_app(
            broker=broker,
            access=access,
            settings=_web_settings(config),
            extra_routes=[*PipeDoor(tools, access).routes(), *door.routes()],
            lifespan=door.lifespan,
        )
        try:
            agent_token = home.agent_token_file.read_text().strip()
            yield Assembly(
                url=url,
                app=app,
                broker=broker,
                pipes=pipes,
                access=access,
                public_url=config.public_url.rstrip("/"),
                agent_token=agent_token,
            )
        finally:
            await pipes.close(end=False)
            await broker.close()
    finally:
        await store.close()


def policy(config: Config) -> Policy:
    """What the settings say of asking and answering."""
    return Policy(
        ttl=config.ttl,
        block_timeout=config.block_timeout,
        on_block_end=config.on_block_end,
        on_expiry=OnExpiry(config.on_expiry),
        on_restart=config.on_restart,
        reading=ReadingRules(unknown_approval=config.unknown_approval, numbers=config.numbers),
        limits=config.limits,
    )


def database_path(home: Home, config: Config) -> Path:
    """Where the database is; a name that is not absolute counts from the home.

    Raises:
        InvalidSetting: if the address is of a kind that this version does not speak.
    """
    address = config.database
    if not address:
        return home.database_file
    parts = urlsplit(address)
    if parts.scheme == "sqlite" and not parts.netloc:
        # As everywhere: three slashes and a relative name, or four and an absolute one.
        return home.path / parts.path.removeprefix("/")
    if "://" not in address:
        return home.path / Path(address).expanduser()
    raise InvalidSetting(
        f"database: {parts.scheme!r} is not a store of this version",
        hint="use a file name, or sqlite:////absolute/path",
    )


def _web_settings(config: Config) -> WebSettings:
    names = {config.host, urlsplit(config.public_url).hostname}
    return WebSettings(
        allowed_hosts=frozenset(name for name in names if name),
        allowed_origins=frozenset({config.public_url.rstrip("/")} if config.public_url else ()),
        public_url=config.public_url.rstrip("/"),
        version=__version__,
    )


async def _adopt_local_tokens(home: Home, access: Access) -> None:
    """The owner's credentials and the ask-only ones of local agents: made once, found in the home's files."""
    known = {token.name: token.digest for token in await access.tokens()}
    for path, name, role in (
        (home.owner_token_file, _owner(), Role.ADMIN),
        (home.agent_token_file, LOCAL_AGENT, Role.AGENT),
    ):
        if not path.exists():
            home.write_private(path, f"upcall_{role.value}_{secrets.token_urlsafe(32)}\n")
        secret = path.read_text().strip()
        if known.get(name) != digest(secret):
            await access.adopt(name, role, secret)


def _owner() -> str:
    """What the owner of the home is called: as the system calls them."""
    name = pwd.getpwuid(os.getuid()).pw_name
    return "owner" if name == LOCAL_AGENT else name
