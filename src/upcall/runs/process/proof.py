"""How a keeper and a daemon know each other: both prove that they have the run's secret, and neither tells it.

Loopback is for everybody on the machine, and a port that nobody listens on is anybody's.
"""

import hashlib
import hmac

KEEPER, DAEMON = "keeper", "daemon"


def key_of(token: str) -> str:
    """What is kept of a run's token, which is what both sides have."""
    return hashlib.sha256(token.encode()).hexdigest()


def proof(key: str, side: str, nonce: str) -> str:
    """What only somebody with the key can say."""
    return hmac.new(key.encode(), f"{side}:{nonce}".encode(), hashlib.sha256).hexdigest()


def proves(said: object, key: str, side: str, nonce: str) -> bool:
    """Whether somebody has the key."""
    return isinstance(said, str) and hmac.compare_digest(said.encode(), proof(key, side, nonce).encode())
