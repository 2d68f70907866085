"""Where and when people have seen a question, as far as anybody knows."""

from upcall.domain.channel import delivery
from upcall.domain.text.display import one_line
from upcall.ports.store import Store

MOST = 50
MOST_NAMED = 5


async def first_shown(store: Store, inquiry: str) -> tuple[float, str] | None:
    """When an inquiry was seen for the first time, and all the places where it was; None if nobody knows of any."""
    found = await store.records(delivery.KIND, state=inquiry, limit=MOST)
    shown = [each for kept in found.items if (each := delivery.delivery_in(kept)).shown_at is not None]
    if not shown:
        return None
    shown.sort(key=lambda each: each.shown_at or 0.0)
    places = ", ".join(one_line(each.place.name, 40) for each in shown[:MOST_NAMED])
    return shown[0].shown_at or 0.0, places
