"""Signatures of webhooks, as the Standard Webhooks specification has them: over an id, a time and the raw body."""

import base64
import binascii
import hmac
from collections.abc import Mapping

WINDOW = 300.0
"""How many seconds a request may be old, or ahead of our clock."""

PREFIX = "whsec_"
VERSION = "v1"


def key_in(secret: str) -> bytes:
    """The key in a secret: base 64 behind `whsec_`, otherwise the text itself.

    Raises:
        ValueError: if what is behind `whsec_` is not base 64.
    """
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise ValueError("what is behind whsec_ is not base 64") from None


def headers(key: bytes, name: str, at: float, body: bytes) -> dict[str, str]:
    """The headers of a request that we send."""
    moment = str(int(at))
    return {
        "webhook-id": name,
        "webhook-timestamp": moment,
        "webhook-signature": f"{VERSION},{_signature(key, name, moment, body)}",
    }


def is_genuine(key: bytes, given: Mapping[str, str], now: float, body: bytes) -> bool:
    """Whether a holder of the key has signed this, within the last minutes."""
    name, moment = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not name or not (moment.isascii() and moment.isdigit() and len(moment) < 16):
        return False
    wanted = f"{VERSION},{_signature(key, name, moment, body)}".encode()
    signatures = given.get("webhook-signature", "").split(" ")
    matches = [hmac.compare_digest(wanted, each.encode("utf-8", "replace")) for each in signatures]
    return any(matches) and abs(now - int(moment)) <= WINDOW


def _signature(key: bytes, name: str, moment: str, body: bytes) -> str:
    signed = b".".join((name.encode("utf-8", "replace"), moment.encode(), body))
    return base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
