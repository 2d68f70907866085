"""HTTP clients for servers on loopback, which speak no TLS."""

from typing import Any

import httpx2


def plain_client(**options: Any) -> httpx2.AsyncClient:
    """A client without certificates: to read all that are trusted takes 50 ms, longer than most tests."""
    return httpx2.AsyncClient(verify=False, **options)
