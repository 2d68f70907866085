"""The settings of the daemon over HTTP: to have them read again."""

from starlette.responses import Response

from upcall.domain.errors import InvalidRequest
from upcall.http.body import Json
from upcall.web.backend import Reload
from upcall.web.call import Call


class SettingsHandlers:
    """The handlers of everything under `/v1/config`."""

    def __init__(self, reload: Reload | None) -> None:
        self._reload = reload

    async def reload(self, call: Call) -> Response:
        """Read the settings and the secrets again; settings that cannot be read change nothing."""
        if self._reload is None:
            raise InvalidRequest("this daemon has no settings to read again")
        return Json(await self._reload())
