"""A push subscription of a browser: its endpoint and its keys."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a browser registers with: an endpoint of its vendor's push service, and two keys to encrypt for."""

    endpoint: str
    p256dh: str
    auth: str

    def body(self) -> dict[str, object]:
        """The body of its record."""
        return {"endpoint": self.endpoint, "p256dh": self.p256dh, "auth": self.auth}


def subscription_in(body: Mapping[str, object]) -> Subscription:
    """The subscription in the body of a record."""
    return Subscription(endpoint=str(body["endpoint"]), p256dh=str(body["p256dh"]), auth=str(body["auth"]))
