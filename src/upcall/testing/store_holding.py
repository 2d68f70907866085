"""What every store must do with a decision that can still be undone."""

from dataclasses import replace

from upcall.domain.inquiry import asking_back, lifecycle
from upcall.domain.inquiry.inquiry import ANSWER_FILES, Change, Inquiry
from upcall.ports.store import Decide, Query, Store
from upcall.testing.examples import HOUR, NOW, an_inquiry, answering
from upcall.testing.store_harness import StoreHarness

__all__ = ["AskedBackContract", "HoldingContract"]


def _holding(*blobs: bytes) -> Decide:
    """The step by which a person answers with these files, and can still undo it."""
    answer = answering("Red")

    def hold(it: Inquiry) -> Change | None:
        change = answer(it)
        return change and replace(lifecycle.hold(it, change, 4), blobs=blobs)

    return hold


class AskedBackContract(StoreHarness):
    """What people ask the asker of an open inquiry."""

    async def test_what_was_asked_back_is_kept_while_the_inquiry_is_open(self, store: Store) -> None:
        """With whether the asker was told, and its reply."""
        added = (await store.add(an_inquiry())).inquiry

        def ask(inquiry: Inquiry) -> Change | None:
            return asking_back.ask_back(inquiry, "Why?", by="ana", via="web", now=NOW)

        asked = (await store.update(added.id, ask)).inquiry
        assert (await store.get(added.id), (await store.find(Query(state="open"))).items) == (asked, (asked,))
        heard = await store.update(added.id, lambda it: asking_back.hear(it, NOW))
        replied = await store.update(added.id, lambda it: asking_back.reply(it, "Because.", NOW))
        kept = (await store.get(added.id)).asked_back
        assert (heard.applied, kept) == (True, replied.inquiry.asked_back)
        assert [(each.words, each.told, each.reply) for each in kept] == [("Why?", True, "Because.")]


class HoldingContract(AskedBackContract):
    """Holding a decision, undoing it, and telling it."""

    async def test_a_held_decision_is_due_at_its_end_and_keeps_the_deadline(self, store: Store) -> None:
        """It is among what is due when it can no longer be undone; undone, the question has its own time again."""
        added = (await store.add(an_inquiry(expires_at=NOW + HOUR))).inquiry
        held = (await store.update(added.id, _holding())).inquiry
        assert await store.get(added.id) == held
        assert held.held is not None
        until = held.held.until
        assert (await store.next_expiry(), list(await store.due(until - 1, 10))) == (until, [])
        assert list(await store.due(until, 10)) == [added.id]
        done = await store.update(added.id, lambda it: lifecycle.undo(it, by="ana", now=until - 1))
        assert done.inquiry == added
        assert await store.next_expiry() == NOW + HOUR
        await store.update(added.id, _holding())
        told = await store.update(added.id, lambda it: lifecycle.expire(it, until))
        assert told.inquiry.state_name == "answered"
        assert await store.get(added.id) == told.inquiry

    async def test_the_files_of_an_answer_take_the_place_of_those_that_were_undone(
        self, store: Store
    ) -> None:
        """And those of the question stay, also when all of it is one transaction."""
        added = (await store.add(an_inquiry(expires_at=NOW + HOUR), [b"asked"])).inquiry
        await store.update(added.id, _holding(b"undone", b"left"))
        await store.update(added.id, lambda it: lifecycle.undo(it, by="ana", now=NOW))
        await store.update(added.id, _holding(b"kept"))
        found = [await store.attachment(added.id, at) for at in (0, ANSWER_FILES)]
        assert found == [b"asked", b"kept"]
