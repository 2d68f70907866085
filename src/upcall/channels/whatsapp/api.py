"""The calls of Meta's Graph API that the channel needs, and the meaning of its errors."""

from collections.abc import Mapping
from typing import Any

import httpx2

from upcall.ports.channel import FormRefused, Refused, SignedOut, Unavailable

PRODUCTION = "https://graph.facebook.com/v24.0"
CALL_SECONDS = 8.0
BUSY_SECONDS = 5.0
BUSY = {4, 80007, 130429, 131056}
"""Rate limits of the app, the account, the number or the person."""

PASSING = {1, 2, 131000, 131016, 131048, 131057, 133004, 133005, 133016}
"""Errors after which the same request may work later."""

CREDENTIAL = {3, 10, 102, 190, *range(200, 300), 131005, 131031, 131042, 131045, 133010}
"""Errors about the token, its permissions or the account: nothing works before that is mended."""

INVALID = {100, 131008, 131009}
"""Errors about the form of a message."""

WINDOW_OVER = 131047
HINTS = {
    WINDOW_OVER: "more than 24 hours have passed since this person wrote; "
    "they have to write first, or `template` has to name one",
    10: "the token needs the permission whatsapp_business_messaging",
    100: "check phone_number_id, and that the address is a number without + or a user id",
    190: "access_token is wrong or has run out; a system user's does not",
    200: "the token needs the permission whatsapp_business_messaging",
    131026: "this number is not on WhatsApp, or cannot be written to",
    131030: "a test number writes only to numbers on its list",
    132001: "there is no such template in that language",
}


class WindowOver(Refused):
    """Only a template may be sent now."""


class Graph:
    """One access token."""

    def __init__(self, token: str, url: str) -> None:
        self._http = httpx2.AsyncClient(
            base_url=(url or PRODUCTION).rstrip("/") + "/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=CALL_SECONDS,
        )

    async def get(self, path: str, **query: str) -> Mapping[str, Any]:
        """Read something.

        Raises:
            Unavailable: if it cannot be done now.
            Refused: if it can never be done.
        """
        return await self._call("GET", path, query, None)

    async def post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send something. Raises as `get` does."""
        return await self._call("POST", path, {}, body)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _call(
        self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        try:
            response = await self._http.request(method, path, params=query, json=body)
        except httpx2.TransportError as error:
            raise Unavailable(f"WhatsApp cannot be reached: {type(error).__name__}") from error
        try:
            said = response.json()
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise Unavailable(f"WhatsApp cannot do it now: {response.status_code}")
        if response.is_success:
            return said
        problem = said.get("error") or {}
        details = (problem.get("error_data") or {}).get("details") or problem.get("message") or ""
        raise failure(
            int(problem.get("code") or 0),
            str(details),
            passing=response.status_code >= 500 or bool(problem.get("is_transient")),
            busy=response.status_code == 429,
            signed_out=response.status_code == 401,
        )


def failure(
    code: int, details: str, *, passing: bool = False, busy: bool = False, signed_out: bool = False
) -> Refused | Unavailable:
    """The exception of the port for an error of WhatsApp, in a response or in a receipt."""
    if busy or code in BUSY:
        return Unavailable("WhatsApp is busy", after=BUSY_SECONDS)
    said = f"{code} {details}".strip().rstrip(".")
    if passing or code in PASSING:
        return Unavailable(f"WhatsApp cannot do it now: {said}")
    if code == WINDOW_OVER:
        return WindowOver(f"WhatsApp says {code}: {HINTS[code]}")
    if code in INVALID:
        return FormRefused(f"WhatsApp says {said}{f': {HINTS[code]}' if code in HINTS else ''}")
    no = SignedOut if signed_out or code in CREDENTIAL else Refused
    return no(f"WhatsApp says {said}{f': {HINTS[code]}' if code in HINTS else ''}")
