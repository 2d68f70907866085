"""Checks the address of a vendor's API in the settings: a token is never sent unencrypted."""

from urllib.parse import urlsplit

from upcall.domain.errors import InvalidSetting

LOCAL = {"127.0.0.1", "::1", "localhost"}


def guarded(setting: str, url: str) -> str:
    """The address, if it is https, or on this machine.

    Raises:
        InvalidSetting: if it is not.
    """
    address = urlsplit(url)
    if address.scheme == "https" or (address.scheme == "http" and address.hostname in LOCAL):
        return url.rstrip("/")
    raise InvalidSetting(
        f"{setting}: {url!r} would carry the token in the clear",
        hint="write https://…; http:// is for a server on this machine",
    )
