"""Threads and their items as the JSON that is sent."""

from collections.abc import Sequence
from typing import cast

from upcall.broker.broker import Broker
from upcall.broker.threads import Threads
from upcall.domain.document import Document, timestamp
from upcall.domain.errors import DamagedRow, UnknownInquiry
from upcall.domain.thread import prompts
from upcall.domain.thread.thread import ItemType, Thread
from upcall.ports.store import Event


class ThreadDocuments:
    """Writes threads; a prompt's block is written as it stands now."""

    def __init__(self, broker: Broker, threads: Threads) -> None:
        self._broker = broker
        self._threads = threads

    async def thread(self, known: Thread) -> Document:
        """A thread, with the open prompt that comes first."""
        inquiry = await self._threads.prompt(known)
        prompt: Document | None = None
        if inquiry is not None:
            prompt = {
                "prompt_id": prompts.prompt_id(inquiry),
                "inquiry": inquiry.id,
                "ref": inquiry.ref,
                "kind": inquiry.kind.value,
                "state": inquiry.state_name,
            }
        return {
            "id": known.id,
            "agent": known.agent,
            "session": known.session,
            "title": known.title,
            "permissions": self._broker.thread_queue.permission_in(known),
            "own_permissions": known.permissions or None,
            "prompt": prompt,
            "created_at": timestamp(known.created_at),
        }

    async def items(self, events: Sequence[Event], known: Thread) -> list[Document]:
        """Items in their order."""
        return [await self.item(event, known) for event in events]

    async def item(self, event: Event, known: Thread) -> Document:
        """One item."""
        data = event.data
        return {
            "seq": event.seq,
            "id": data["id"],
            "thread": data["thread"],
            "role": data["role"],
            "by": data["by"],
            "at": timestamp(event.at),
            "content": data["content"],
            "metadata": data["metadata"],
            "queued": bool(data.get("queued")) and event.seq > known.taken,
            "block": await self._block(event),
        }

    async def _block(self, event: Event) -> Document | None:
        metadata = cast("Document", event.data["metadata"])
        if metadata["type"] == ItemType.PENDING:
            name = str(cast("Document", metadata["prompt"])["prompt_id"]).removeprefix(prompts.PREFIX)
            try:
                return prompts.block(await self._broker.store.get(name))
            except (UnknownInquiry, DamagedRow):
                return None
        if event.data["role"] == "worker" and metadata.get("status") == "error":
            error = cast("Document", metadata["error"])
            stamp = int(event.at * 1000)
            return {"type": "error", "status": "error", "content": error["message"], "timestamp": stamp}
        return None
