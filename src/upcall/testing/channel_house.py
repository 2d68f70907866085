"""The fixture of channel tests: a broker with one channel, and the vendor's side of the wire."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import uvicorn
from starlette.applications import Starlette
from typing_extensions import override

from upcall.broker.broker import Broker, Policy
from upcall.channels.words import sentences
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.dispatch.current_routing import CurrentRouting
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import People
from upcall.domain.channel.routing import Place, Route, Routing
from upcall.domain.inquiry.asking import draft
from upcall.domain.inquiry.inquiry import Answered, Inquiry, Origin
from upcall.domain.roles import Caller, Role
from upcall.ports.channel import Channel
from upcall.stores.sqlite.store import SqliteStore
from upcall.web.callbacks import callback_routes
from upcall.web.settings import WebSettings

__all__ = [
    "ASKER",
    "NAME",
    "SECONDS",
    "WEB",
    "CallingVendor",
    "DirectVendor",
    "House",
    "Message",
    "Vendor",
    "a_house",
]

SECONDS = 20.0
NAME = "tried"
WEB = Caller(name="web", role=Role.PERSON)
ASKER = Caller(name="builder", role=Role.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as people see it."""

    name: str
    text: str
    answerable: bool
    """Whether anything is there to press, choose or fill in; where a message cannot be changed, whether it is not said below it
    that it is over."""


class Vendor(Protocol):
    """The other side of the wire."""

    place: str
    known: str
    """The id of a person who is enrolled before each test."""
    stranger: str

    def channel(self) -> Channel:
        """The channel as it is after a start of the daemon."""
        ...

    async def until(self, seen: Callable[[], bool]) -> None:
        """Wait until this holds; looked at whenever something has happened here."""
        ...

    def messages(self) -> Sequence[Message]:
        """Every message that shows a question, the oldest first."""
        ...

    async def answer(self, user: str, message: str, answers: Sequence[Sequence[str]]) -> None:
        """Press, choose and fill in, for each question, what is shown under these labels; else write it there."""
        ...

    async def reply(self, user: str, message: str, words: str) -> None:
        """Reply to a message in words."""
        ...

    async def write(self, user: str, words: str) -> None:
        """Write to the app itself."""
        ...

    async def repeat(self) -> None:
        """Deliver the last act of a person once more, as vendors do."""
        ...

    def told(self, user: str) -> Sequence[str]:
        """The lines that only this person was told."""
        ...

    def fail(self, how: Literal["unavailable", "refused", "signed_out"] | None) -> None:
        """Take no messages from now on, for that reason; None is to take them again.

        `signed_out` is what the vendor says to a credential that it does not take.
        """
        ...

    def listening(self) -> bool:
        """Whether a listener is connected."""
        ...


class DirectVendor(Vendor, Protocol):
    """A vendor where people write to the app alone, and what they write answers what it has asked them there."""

    direct: str
    """The address of a direct message to the known person, as in a route."""


@runtime_checkable
class CallingVendor(Protocol):
    """A vendor that delivers what people do by calling us."""

    def reachable(self, url: str) -> None:
        """From now on we are at this address."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """A broker with one channel."""

    broker: Broker
    people: People
    dispatch: Dispatch

    async def ask(self, **fields: Any) -> Inquiry:
        """Ask something."""
        origin = Origin(agent=ASKER.name, session="s-1", door="test")
        return (await self.broker.ask(draft({"question": "Which cache?", **fields}), origin)).inquiry

    async def settled(self, inquiry: Inquiry) -> Inquiry:
        """The inquiry once it is settled."""
        settled = await self.broker.wait(inquiry, SECONDS)
        assert not settled.is_open, (
            f"{inquiry.ref} is still open {SECONDS} seconds after it was answered at the vendor. What a person presses or "
            f"fills in has to reach the inbox as an Inbound with the inquiry's id (`inquiry={inquiry.id!r}`) and what was "
            "`given` for each question; words in reply to a message need that message's name (`message`)."
        )
        return settled

    async def answers(self, inquiry: Inquiry) -> list[list[str]]:
        """The final answers, by the person who has to have given them."""
        state = (await self.settled(inquiry)).state
        assert isinstance(state, Answered)
        assert (state.closing.by, state.closing.via) == ("ana", NAME)
        return [list(values) for values in state.answer.values]


@asynccontextmanager
async def a_house(
    vendor: Vendor, folder: Path, *, ttl: float = 3600.0, address: str = ""
) -> AsyncIterator[House]:
    """A daemon's broker with its channel at work, on the same database each time; all goes to one address."""
    store = await SqliteStore.open(folder / "upcall.db")
    place = Place(channel=NAME, address=address or vendor.place)
    routing = Routing(routes=(Route(places=(place,)),), channels=(NAME,))
    broker = Broker(store, Policy(ttl=ttl), follow_up=routing.consequences)
    people = People(store, broker.now)
    post = ConfiguredChannel(name=NAME, channel=vendor.channel(), words=sentences("en"), link=_link)
    dispatch = Dispatch(broker, people, [post], CurrentRouting(routing))
    async with _finished(), AsyncExitStack() as leaving:
        leaving.push_async_callback(store.close)
        await broker.start()
        leaving.push_async_callback(broker.close)
        await people.add("ana", [(NAME, vendor.known)])
        await dispatch.start()
        leaving.push_async_callback(dispatch.close)
        if isinstance(vendor, CallingVendor):
            vendor.reachable(await leaving.enter_async_context(_served(dispatch)))
        await vendor.until(vendor.listening)
        yield House(broker=broker, people=people, dispatch=dispatch)


class _Unfinished(logging.Handler):
    """Ends a test as soon as the channel comes to a method that is not written: it would wait for what never comes."""

    def __init__(self, test: asyncio.Timeout) -> None:
        super().__init__()
        self._test = test
        self.method: NotImplementedError | None = None

    @override
    def emit(self, record: logging.LogRecord) -> None:
        """Look for such an exception among those that the dispatcher logs before it goes on."""
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, NotImplementedError) and self.method is None:
            self.method = error
            self._test.reschedule(asyncio.get_running_loop().time())


@asynccontextmanager
async def _finished() -> AsyncIterator[None]:
    log = logging.getLogger("upcall.dispatch")
    async with asyncio.timeout(None) as test:
        unfinished = _Unfinished(test)
        log.addHandler(unfinished)
        try:
            yield
        except asyncio.CancelledError:
            if unfinished.method is None:
                raise
            raise unfinished.method from None
        finally:
            log.removeHandler(unfinished)


async def _link(inquiry: Inquiry, _: str) -> str:
    return f"http://x/i/{inquiry.id}"


@asynccontextmanager
async def _served(dispatch: Dispatch) -> AsyncIterator[str]:
    """Where vendors call us, on a port of its own."""
    app = Starlette(routes=callback_routes(dispatch, WebSettings(version="test")))
    server = uvicorn.Server(uvicorn.Config(app, ws="none", lifespan="off", log_config=None))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/channels/{NAME}"
        finally:
            server.should_exit = True
            await serving
