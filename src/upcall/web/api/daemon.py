"""The daemon itself over HTTP: is it well, what does it count, what does it offer, and a copy of its data."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest
from upcall.http.body import Json
from upcall.ports.following import follow
from upcall.web import fields
from upcall.web.call import Call
from upcall.web.settings import WebSettings

PATH_LENGTH = 4096
COUNTED = ("asked", "answered", "rejected", "cancelled", "expired", "failed", "collected", "notified")


class DaemonHandlers:
    """The handlers that are about no inquiry in particular."""

    def __init__(self, broker: Broker, settings: WebSettings, document: Mapping[str, object]) -> None:
        self._broker = broker
        self._settings = settings
        self._openapi = Json(document)
        self._counts: Counter[str] = Counter()
        self._counted: int | None = None
        self._counting = asyncio.Lock()

    async def health(self, call: Call) -> Response:
        """Is it well."""
        await self._broker.store.next_expiry()
        stopping = self._broker.closing.is_set()
        return Json(
            {
                "status": "stopping" if stopping else "ok",
                "service": "upcall",
                "version": self._settings.version,
            },
            503 if stopping else 200,
        )

    async def alive(self, call: Call) -> Response:
        """Does it run.

        The database is not read here: a supervisor that restarted the daemon would not mend it.
        """
        return Json({"status": "ok", "service": "upcall", "version": self._settings.version})

    async def openapi(self, call: Call) -> Response:
        """What there is."""
        return self._openapi

    async def metrics(self, call: Call) -> Response:
        """Numbers to watch, in Prometheus' text format."""
        await self._count()
        lines = [
            *_metric(
                "upcall_build_info",
                "gauge",
                "The version that runs.",
                f'{{version="{self._settings.version}"}}',
                1,
            ),
            *_metric(
                "upcall_open_inquiries",
                "gauge",
                "Inquiries waiting for a person.",
                "",
                await self._broker.store.count_open(),
            ),
            *_metric(
                "upcall_waiting_callers",
                "gauge",
                "Callers blocked until an inquiry is settled.",
                "",
                self._broker.waiting,
            ),
            *_metric(
                "upcall_last_event",
                "counter",
                "Number of the latest event in the log.",
                "",
                await self._broker.store.last_seq(),
            ),
            "# HELP upcall_events_total Events since the first time these numbers were read.",
            "# TYPE upcall_events_total counter",
            *(f'upcall_events_total{{type="{kind}"}} {self._counts[kind]}' for kind in COUNTED),
        ]
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")

    async def backup(self, call: Call) -> Response:
        """Copy everything to a file on the daemon's machine."""
        body = await call.body()
        path = fields.required_text(body, "path", most=PATH_LENGTH, example='{"path": "/backups/upcall.db"}')
        if not PurePosixPath(path).is_absolute() or "\0" in path:
            raise InvalidRequest(
                f"path: an absolute path on the daemon's machine, got {path[:80]!r}",
                hint='for example {"path": "/backups/upcall.db"}',
            )
        await self._broker.store.backup(path)
        return Json({"path": path}, 201)

    async def _count(self) -> None:
        """Catch up with the log. What came before the first look is history, which no rate needs."""
        store = self._broker.store
        async with self._counting:
            if self._counted is None:
                self._counted = await store.last_seq()
            async for events in follow(store, self._counted):
                self._counts.update(event.type for event in events)
                self._counted = events[-1].seq


def _metric(name: str, kind: str, meaning: str, labels: str, value: float) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", f"{name}{labels} {value}"]
