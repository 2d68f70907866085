"""Browsers that want to be told although nobody looks: they are let in here, and out when somebody signs out."""

from starlette.responses import Response

from upcall.dispatch.subscriptions import Subscriptions
from upcall.domain.channel.subscription import Subscription
from upcall.web.pages.forms import value
from upcall.web.pages.visit import Visit


class PushDesk:
    """The handlers of everything under `/push`."""

    def __init__(self, subscriptions: Subscriptions) -> None:
        self._subscriptions = subscriptions

    async def subscribe(self, visit: Visit) -> Response:
        """Let this browser be told what waits for whoever is signed in."""
        assert visit.session is not None
        wanted = Subscription(
            endpoint=value(visit.form, "endpoint"),
            p256dh=value(visit.form, "p256dh"),
            auth=value(visit.form, "auth"),
        )
        await self._subscriptions.add(visit.caller.name, visit.session.name, wanted)
        return Response(status_code=204)

    async def unsubscribe(self, visit: Visit) -> Response:
        """Tell it nothing more. Whoever knows an address of a push service may end it."""
        await self._subscriptions.drop(value(visit.form, "endpoint"))
        return Response(status_code=204)
