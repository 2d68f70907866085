"""Push subscriptions of browsers: added here, and dropped when their session ends."""

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
        """Push to this browser what waits for the person who is signed in."""
        assert visit.session is not None
        wanted = Subscription(
            endpoint=value(visit.form, "endpoint"),
            p256dh=value(visit.form, "p256dh"),
            auth=value(visit.form, "auth"),
        )
        await self._subscriptions.add(visit.caller.name, visit.session.name, wanted)
        return Response(status_code=204)

    async def unsubscribe(self, visit: Visit) -> Response:
        """End a subscription. Its address at the push service is a secret, so knowing it is enough."""
        await self._subscriptions.drop(value(visit.form, "endpoint"))
        return Response(status_code=204)
