"""The switch of `upcall away` over HTTP: how it stands, and setting it."""

from starlette.responses import Response

from upcall.approvals.away import AwaySwitch, Switched
from upcall.domain.away import AwayMode
from upcall.domain.document import timestamp
from upcall.domain.errors import InvalidRequest
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.call import Call


class AwayHandlers:
    """The handlers of `/v1/away`."""

    def __init__(self, switch: AwaySwitch | None) -> None:
        self._switch = switch

    async def get(self, call: Call) -> Response:
        """Read whether dialogs of terminals go to people elsewhere."""
        switch = self._found()
        return Json(_document(await switch.read(), switch.after))

    async def set(self, call: Call) -> Response:
        """Send them at once, never, or after a time without a key."""
        switch = self._found()
        sent = fields.required_text(await call.body(), "mode", most=20, example='{"mode": "on"}')
        try:
            mode = AwayMode(sent)
        except ValueError:
            names = ", ".join(mode.value for mode in AwayMode)
            raise InvalidRequest(
                f"mode: one of {names}, got {sent!r}", hint='for example {"mode": "on"}'
            ) from None
        return Json(_document(await switch.set(mode, call.caller.name), switch.after))

    def _found(self) -> AwaySwitch:
        if self._switch is None:
            raise InvalidRequest("this daemon serves no terminals")
        return self._switch


def _document(switched: Switched, after: float) -> dict[str, object]:
    return {
        "mode": switched.mode.value,
        "after": after,
        "by": switched.by or None,
        "at": None if switched.at is None else timestamp(switched.at),
    }
