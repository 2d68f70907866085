"""The HTTP API of a LangGraph server, as far as watching its threads needs it."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from upcall.client.bridges.interrupts import Fields
from upcall.client.errors import RunFailed

PAGE = 100

BUSY = 409
"""The server's status where a run of the thread is at work already."""


class Server:
    """A server behind an HTTP client that has its address."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def interrupted(self) -> list[Fields]:
        """The threads that wait for something."""
        found: list[Fields] = []
        while True:
            sent = {"status": "interrupted", "limit": PAGE, "offset": len(found), "sort_by": "created_at"}
            page: Sequence[Fields] = await self._call("POST", "/threads/search", sent)
            found += page
            if len(page) < PAGE:
                return [each for each in found if interrupts_of(each)]

    async def thread(self, name: str) -> Fields:
        """A thread as it stands."""
        found: Fields = await self._call("GET", f"/threads/{name}")
        return found

    async def resume(self, thread: Fields, answers: Mapping[str, Any]) -> bool:
        """Resume a thread; whether no other run of it is at work."""
        metadata = thread["metadata"]
        given = (thread.get("config") or {}).get("configurable") or {}
        sent = {
            "assistant_id": metadata.get("assistant_id") or metadata["graph_id"],
            "command": {"resume": answers},
            # A second watcher, or a program of its own, may have resumed it at the same time.
            "multitask_strategy": "reject",
        } | ({"config": {"configurable": given}} if given else {})
        return await self._call("POST", f"/threads/{thread['thread_id']}/runs", sent) is not None

    async def _call(self, method: str, path: str, body: Fields | None = None) -> Any:
        """The reply to a request; None where a run is in the way."""
        try:
            reply = await self._http.request(method, path, json=body)
            if reply.status_code == BUSY:
                return None
            if not reply.is_success:
                raise RunFailed(
                    f"the LangGraph server replied {reply.status_code} to {path}: {reply.text[:300]}"
                )
            return reply.json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as problem:
            why = str(problem) or type(problem).__name__
            raise RunFailed(
                f"no LangGraph server replies at {self._http.base_url}: {why}",
                hint="`langgraph dev` starts one; --url says where it is",
            ) from problem


def interrupts_of(thread: Fields) -> list[Fields]:
    """What a thread waits for: each with its `id` and its `value`."""
    found: Mapping[str, Sequence[Fields]] = thread.get("interrupts") or {}
    return [each for several in found.values() for each in several]
