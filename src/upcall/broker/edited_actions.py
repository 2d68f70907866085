"""An action that a person edits: what it becomes, and whether it stands denied already."""

from collections.abc import Mapping

from upcall.domain.approval import denials
from upcall.domain.approval.editing import edit_of
from upcall.domain.errors import EditDenied
from upcall.domain.inquiry.inquiry import Edit
from upcall.domain.inquiry.limits import weight
from upcall.ports.store import Ledger, Store
from upcall.ports.unhurried import LIGHT, unhurried


async def edited(store: Store, name: str, wanted: Mapping[str, object] | None, now: float) -> Edit | None:
    """The edit that a person makes of the action of an inquiry; None if they leave it as it is.

    Raises:
        UnknownInquiry: if there is none of that name.
        NotEditable: if it cannot be edited, or not like this.
        EditDenied: if a person has denied the edited action in the same turn of its session.
    """
    if wanted is None:
        return None
    inquiry = await store.get(name)
    edit = await unhurried(weight(wanted, LIGHT), lambda: edit_of(inquiry, wanted))
    if edit is None:
        return None
    origin = inquiry.origin
    if await standing_denial(store, origin.agent, origin.session, edit.digest, now) is not None:
        raise EditDenied(
            "this action was denied before, and its session has had no new turn since",
            hint="deny it, or change it in another way",
        )
    return edit


async def standing_denial(
    ledger: Ledger, agent: str, session: str, digest: str, now: float
) -> denials.Denial | None:
    """The denial of an action that still stands in a session."""
    record = await ledger.look_up(denials.KIND, denials.denial_key(agent, session, digest))
    found = None if record is None else denials.denial_in(record)
    return found if found is not None and now < found.until else None
