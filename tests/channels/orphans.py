"""Messages that a daemon sent and was killed before it could keep that: the next daemon knows nothing of them."""

from upcall.domain.channel.delivery import KIND, MESSAGE, WAITING, key, message_key
from upcall.domain.channel.routing import Place, show_job
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.records import Effects
from upcall.testing.channel_house import NAME, House, Vendor


async def orphaned(house: House, vendor: Vendor, inquiry: Inquiry) -> str:
    """Forget the message of an inquiry, as a kill would have it, and have it shown again; the name of the first one."""
    (delivery,) = await house.dispatch.deliveries(inquiry.id)
    message, place = str(delivery["message_id"]), Place(channel=NAME, address=vendor.place)
    name = key(inquiry.id, place)
    effects = Effects(
        forgotten=((KIND, name), (WAITING, name), (MESSAGE, message_key(NAME, message))),
        jobs=(show_job(inquiry.id, place, 0, house.broker.now()),),
    )
    await house.broker.store.revise(KIND, name, lambda _: effects)
    return message
