"""The daemon itself over HTTP: is it well, what does it offer, and a copy of its data."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import PurePosixPath

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.call import Call
from upcall.web.settings import WebSettings

PATH_LENGTH = 4096


class DaemonHandlers:
    """The handlers that are about no inquiry in particular."""

    def __init__(
        self, broker: Broker, settings: WebSettings, describe: Callable[[], Mapping[str, object]]
    ) -> None:
        self._broker = broker
        self._settings = settings
        self._describe = describe

    @cached_property
    def _openapi(self) -> Response:
        """Made for the first who asks, which is rare, and not at every start."""
        return Json(self._describe())

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
