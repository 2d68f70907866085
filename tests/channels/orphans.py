"""Messages that a daemon sent and was killed before it could record them: the next daemon knows nothing of them."""

from upcall.domain.channel.delivery import KIND, MESSAGE, WAITING, Delivery, key, message_key, record
from upcall.domain.channel.routing import Place, show_job
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects
from upcall.ports.store import Store
from upcall.testing.channel_house import NAME, Vendor


async def orphan(store: Store, vendor: Vendor, inquiry: Inquiry, message: str) -> None:
    """Leave of a message what a kill leaves: that it was about to be sent, and that it is still to be shown."""
    place = Place(channel=NAME, address=vendor.place)
    name = key(inquiry.id, place)
    begun = Delivery(inquiry=inquiry.id, place=place, begun=True, at=store.now())
    effects = Effects(
        records=(record(begun),),
        forgotten=((WAITING, name), (MESSAGE, message_key(NAME, message))),
        jobs=(show_job(inquiry.id, place, 0, store.now()),),
    )
    await store.revise(KIND, name, lambda _: effects)
