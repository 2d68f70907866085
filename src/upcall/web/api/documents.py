"""Inquiries as the JSON that is sent, remembered for as long as they are likely to be asked for again.

An answer is shown at least twice: to the person who gave it and to the agent that waited for it.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from upcall.broker.broker import Settled
from upcall.broker.corrections import Corrected
from upcall.domain.document import document
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.http.body import Json, encode
from upcall.http.errors import error
from upcall.ports.store import Page

REMEMBERED, LARGEST_REMEMBERED = 1024, 16 * 1024
"""How many documents are remembered, and how many bytes one of them may have: agents decide how large they are."""

Resumed = Callable[[str], Awaitable[Mapping[str, object] | None]]
"""How far the resume of an inquiry's session is, by the inquiry's id."""


class Deliveries(Protocol):
    """Tells where inquiries were shown."""

    @property
    def names(self) -> Sequence[str]:
        """The channels that there are now."""
        ...

    async def deliveries(self, inquiry: str) -> Sequence[Mapping[str, object]]:
        """Where an inquiry was shown, by its id."""
        ...


class Fate(Protocol):
    """Tells where an answer goes."""

    async def __call__(self, inquiry: Inquiry, *, awaited: bool) -> Mapping[str, object] | None:
        """For an inquiry that was settled just now, and for which a call waited until then or not."""
        ...


async def _never(inquiry: str) -> None:
    return None


async def _unknown(inquiry: Inquiry, *, awaited: bool) -> None:
    return None


class Documents:
    """Writes inquiries; each is written once while it stays the same value."""

    def __init__(
        self, resumed: Resumed = _never, shown: Deliveries | None = None, fate: Fate = _unknown
    ) -> None:
        self._resumed = resumed
        self._fate = fate
        self._shown = shown
        # By identity, which is safe because the value is held here too, and cheap because it is not compared.
        self._written: OrderedDict[int, tuple[Inquiry, bytes]] = OrderedDict()

    async def one(self, inquiry: Inquiry, status: int = 200) -> Json:
        """An inquiry."""
        return Json(await self._text(inquiry), status)

    async def undecided(self, inquiry: Inquiry, status: int = 200) -> Json:
        """An action that nothing has allowed, and the inquiry about it."""
        return Json(b'{"allowed_by":null,"inquiry":%b}' % await self._text(inquiry), status)

    async def settled(self, settled: Settled, *, awaited: bool | None = None) -> Json:
        """An inquiry, whether the request that it replies to has settled it, and where its answer goes then."""
        told = None
        if settled.accepted and awaited is not None and not settled.inquiry.held:
            told = await self._fate(settled.inquiry, awaited=awaited)
        return Json(
            b'{"accepted":%b,"inquiry":%b,"told":%b}'
            % (encode(settled.accepted), await self._text(settled.inquiry), encode(told))
        )

    async def corrected(self, told: Corrected) -> Json:
        """An inquiry whose answer was corrected, and how its agent hears of that."""
        return Json(
            b'{"inquiry":%b,"to":%b,"run":%b}'
            % (await self._text(told.inquiry), encode(told.to), encode(told.run))
        )

    async def decided(self, names: Sequence[str], done: Sequence[Settled | UpcallError]) -> Json:
        """What came of a decision about several, for each under the name that it was given."""
        items = [
            b'{"name":%b,"accepted":false,"inquiry":null,"error":%b}' % (encode(name), encode(error(each)))
            if isinstance(each, UpcallError)
            else b'{"name":%b,"accepted":%b,"inquiry":%b,"error":null}'
            % (encode(name), encode(each.accepted), await self._text(each.inquiry))
            for name, each in zip(names, done, strict=True)
        ]
        return Json(b'{"items":[%b]}' % b",".join(items))

    async def page(self, page: Page) -> Json:
        """A page of inquiries."""
        items = b",".join([await self._text(inquiry) for inquiry in page.items])
        indexing = b"" if page.complete else b',"indexing":true'
        return Json(b'{"items":[%b],"next":%b%b}' % (items, encode(page.next), indexing))

    async def _text(self, inquiry: Inquiry) -> bytes:
        origin = inquiry.origin
        if not inquiry.is_open and (origin.run is not None or origin.program):
            # What becomes of its session goes on while the inquiry stays as it is.
            shown = [] if self._shown is None else await self._shown.deliveries(inquiry.id)
            resume = await self._resumed(inquiry.id)
            return encode(document(inquiry) | {"resume": resume, "delivery": shown})
        if self._shown is not None and self._shown.names:
            # So does what becomes of its messages.
            return encode(document(inquiry) | {"delivery": await self._shown.deliveries(inquiry.id)})
        key = id(inquiry)
        kept = self._written.get(key)
        if kept is not None:
            return kept[1]
        text = encode(document(inquiry))
        if len(text) > LARGEST_REMEMBERED:
            return text
        self._written[key] = (inquiry, text)
        if len(self._written) > REMEMBERED:
            self._written.popitem(last=False)
        return text
