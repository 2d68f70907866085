"""A browser as a push service knows it: an address, and keys that open what was sealed for it."""

import base64
import json
import os

import http_ece  # type: ignore[import-untyped]  # it has no types
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from upcall.domain.channel.subscription import Subscription


class Device:
    """A browser that allowed to be told, and the path at its vendor where it is reached."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._auth = os.urandom(16)

    def subscription(self, url: str) -> Subscription:
        """What the browser hands to the page."""
        public = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return Subscription(endpoint=f"{url}{self.path}", p256dh=_text(public), auth=_text(self._auth))

    def read(self, sealed: bytes) -> dict[str, object]:
        """What was sealed for it."""
        read: dict[str, object] = json.loads(
            http_ece.decrypt(sealed, private_key=self._key, auth_secret=self._auth, version="aes128gcm")
        )
        return read


def _text(raw: bytes) -> str:
    """As browsers write keys."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
