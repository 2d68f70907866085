"""A browser that wants to be told, although nobody looks at it: where, and with which keys."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """What a browser gives away so that it can be reached: an address of its vendor's, and two keys for the words."""

    endpoint: str
    p256dh: str
    auth: str

    def body(self) -> dict[str, object]:
        """As it is kept."""
        return {"endpoint": self.endpoint, "p256dh": self.p256dh, "auth": self.auth}


def subscription_in(body: Mapping[str, object]) -> Subscription:
    """What was kept."""
    return Subscription(endpoint=str(body["endpoint"]), p256dh=str(body["p256dh"]), auth=str(body["auth"]))
