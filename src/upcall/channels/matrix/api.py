"""The calls of a homeserver that the channel needs, through matrix-nio, as plain values. Refusals are raised here."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

# The library is untyped.
import nio  # type: ignore[import-untyped]

from upcall.ports.channel import Refused, SignedOut, Unavailable

Event = Mapping[str, Any]
CALL_SECONDS = 15
SYNC_SECONDS = 30
PAGE = 100
PASSING = {401, 429}
"""Refusals that are about our account or our rate, and not about what was asked for."""

CREDENTIAL = {"M_UNKNOWN_TOKEN", "M_MISSING_TOKEN", "M_USER_DEACTIVATED", "M_USER_LOCKED", "M_USER_SUSPENDED"}
"""Errors about the token or its account: nothing works before another one is set."""

HINTS = {
    "M_FORBIDDEN": "invite the account to that room; a person known to Upcall has to do it",
    "M_UNKNOWN_TOKEN": "access_token is not good any more: sign in again and take the new one",
    "M_MISSING_TOKEN": "access_token is not good any more: sign in again and take the new one",
    "M_NOT_FOUND": "use the room's id, such as !abc:example.org, or its address, such as #ops:example.org",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """The latest events of one room; `cut_at` is the token of the earlier ones, empty if there are none."""

    room: str
    events: Sequence[Event]
    cut_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """The result of a sync: its end, the events of each room, and the sender of each invitation."""

    until: str
    rooms: Sequence[News]
    invitations: Mapping[str, str]


class Homeserver:
    """A homeserver as one account sees it."""

    def __init__(self, url: str, token: str, kinds: Sequence[str]) -> None:
        # The library's log lines hold people's messages.
        logging.getLogger("nio").setLevel(logging.ERROR)
        self.user = ""
        self.called = ""
        self._kinds = {"types": list(kinds)}
        settings = nio.AsyncClientConfig(
            # The dispatcher decides whether to try again.
            max_limit_exceeded=0,
            max_timeouts=0,
            request_timeout=CALL_SECONDS,
            encryption_enabled=False,
        )
        self._nio = nio.AsyncClient(url, config=settings)
        self._nio.access_token = token

    async def sign_in(self) -> None:
        """Learn which account the token belongs to."""
        if self.user:
            return
        who = _good(await _tried(self._nio.whoami()))
        named = await _tried(self._nio.get_displayname(who.user_id))
        self.called = str(getattr(named, "displayname", "") or "")
        self._nio.user_id, self.user = who.user_id, str(who.user_id)

    async def close(self) -> None:
        """Let go of the connection."""
        await self._nio.close()

    async def rooms(self) -> int:
        """In how many rooms we are."""
        return len(_good(await _tried(self._nio.joined_rooms())).rooms)

    async def room(self, place: str) -> str:
        """The id of a room that may be given by its address. One that is encrypted is refused."""
        room = place
        if place.startswith("#"):
            room = str(_good(await _tried(self._nio.room_resolve_alias(place))).room_id)
        elif not place.startswith("!"):
            raise Refused(f"{place} is no room: {HINTS['M_NOT_FOUND']}")
        found = await _tried(self._nio.room_get_state_event(room, "m.room.encryption"))
        status = _status(found)
        if status == 200:
            raise Refused("the room is encrypted, and Upcall is not: use a room without encryption")
        if status == 401:
            _good(found)
        if status not in {403, 404}:
            raise Unavailable(f"Matrix does not say whether the room is encrypted: {status}")
        return room

    async def send(self, room: str, content: Mapping[str, Any], *once: str) -> str:
        """Post a message, once for the same `once`, and return its id."""
        return await self._send(room, "m.room.message", content, once)

    async def react(self, room: str, content: Mapping[str, Any], *once: str) -> None:
        """Post a reaction, unless it is there already."""
        try:
            await self._send(room, "m.reaction", content, once)
        except Refused as problem:
            if "M_DUPLICATE_ANNOTATION" not in str(problem):
                raise

    async def event(self, room: str, event: str) -> Event | None:
        """An event; None if there is none that we may see."""
        found = await _tried(self._nio.room_get_event(room, event))
        if (
            isinstance(found, nio.ErrorResponse)
            and 400 <= _status(found) < 500
            and _status(found) not in PASSING
        ):
            return None
        source: Event = _good(found).event.source
        return source

    async def alone_with_us(self, room: str) -> bool:
        """Whether a room has exactly one other member."""
        return len(_good(await _tried(self._nio.joined_members(room))).members) == 2

    async def join(self, room: str) -> None:
        """Accept an invitation."""
        _good(await _tried(self._nio.join(room)))

    async def sync(self, since: str) -> Synced:
        """Wait for events after `since`; without it, return the present state."""
        # The client would continue from its own last position.
        self._nio.next_batch = since
        wait = SYNC_SECONDS * 1000 if since else 0
        kept = {"not_types": ["*"]}
        wanted = {
            "presence": kept,
            "account_data": kept,
            "room": {
                "account_data": kept,
                "ephemeral": kept,
                "state": {"types": [], "lazy_load_members": True},
                "timeline": self._kinds | {"limit": PAGE},
            },
        }
        found = _good(await _tried(self._nio.sync(timeout=wait, sync_filter=wanted, since=since)))
        rooms = [
            News(
                room=room,
                events=[each.source for each in info.timeline.events],
                cut_at=str(info.timeline.prev_batch or "") if info.timeline.limited else "",
            )
            for room, info in found.rooms.join.items()
        ]
        invitations = {
            room: event.sender
            for room, info in found.rooms.invite.items()
            for event in info.invite_state
            if event.source.get("type") == "m.room.member" and event.source.get("state_key") == self.user
        }
        return Synced(until=str(found.next_batch), rooms=rooms, invitations=invitations)

    async def between(self, room: str, since: str, until: str) -> Sequence[Event]:
        """Everything that happened in a room between two moments, in its order."""
        events: list[Event] = []
        while until:
            page = _good(
                await _tried(
                    self._nio.room_messages(room, until, end=since, limit=PAGE, message_filter=self._kinds)
                )
            )
            events += [each.source for each in page.chunk]
            until = str(page.end or "") if page.chunk else ""
        return events[::-1]

    async def _send(self, room: str, kind: str, content: Mapping[str, Any], once: Sequence[str]) -> str:
        name = _transaction((kind, *once)) if once else None
        return str(_good(await _tried(self._nio.room_send(room, kind, dict(content), tx_id=name))).event_id)


async def _tried(call: Awaitable[Any]) -> Any:
    """The response of the homeserver, within the time limit."""
    try:
        async with asyncio.timeout(SYNC_SECONDS + CALL_SECONDS):
            return await call
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unavailable(f"Matrix cannot be reached: {type(error).__name__}") from error


def _status(response: Any) -> int:
    return int(response.transport_response.status)


def _good(response: Any) -> Any:
    """The response of the homeserver; an error is raised."""
    if not isinstance(response, nio.ErrorResponse):
        return response
    said, status = response.status_code, _status(response)
    if status == 429 or said == "M_LIMIT_EXCEEDED":
        raise Unavailable("Matrix is busy", after=(response.retry_after_ms or 1000) / 1000)
    if status >= 500 or not said:
        raise Unavailable(f"Matrix cannot do it now: {said or status}")
    hint = f": {HINTS[said]}" if said in HINTS else ""
    if status == 401 or said in CREDENTIAL:
        raise SignedOut(f"Matrix says {said}{hint}")
    raise Refused(f"Matrix says {said}{hint}")


def _transaction(reason: Sequence[str]) -> str:
    """A transaction id, the same for the same message."""
    return f"upcall-{hashlib.sha256(' '.join(reason).encode()).hexdigest()[:32]}"
