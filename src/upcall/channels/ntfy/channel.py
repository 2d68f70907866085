"""ntfy: a push message with buttons to the subscribers of a topic. A place is a topic."""

import logging
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx2
from typing_extensions import override

from upcall.channels.one_way import OneWay, summary
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.domain.text.display import shortened, units
from upcall.ports.channel import FormRefused, Refused, SignedOut, Unavailable

CALL_SECONDS = 15.0
TITLE = 250
LABEL = 60
MOST_ANSWERS = 2
"""A message has three buttons at most, and one of them opens the page."""

LONGEST_BYTES = 4096
BUSY, INVALID = 429, 400
NOT_LET_IN = {401, 403}

log = logging.getLogger("upcall.channels.ntfy")


class Ntfy(OneWay):
    """One ntfy server."""

    capabilities = Capabilities(one_way=True, link=True, replies=False, edit=False, body=1000)
    """A message has 4096 bytes, and a character may take four of them."""

    def __init__(self, *, server: str, token: str = "", language: str = "en") -> None:
        self._words = sentences(language)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx2.AsyncClient(base_url=server, headers=headers, timeout=CALL_SECONDS)

    async def show(self, view: View, place: str) -> Reference:
        """Publish a message with a button that opens the question."""
        body: dict[str, object] = {
            "topic": place,
            "title": shortened(view.heading, TITLE),
            "message": _within(summary(view)),
            "click": view.link,
            "actions": [
                *_answers(view),
                {"action": "view", "label": self._words["answer"], "url": view.link, "clear": True},
            ],
            "priority": 4,
        }
        try:
            sent = await self._publish(body)
        except FormRefused as problem:
            log.warning("%s is sent to ntfy without buttons: %s", view.ref, problem)
            del body["actions"]
            sent = await self._publish(body)
        return Reference(place=place, message=str(sent.get("id", "")))

    async def tell(self, reference: Reference, line: str) -> None:
        """Publish a line; if it ends with an address, a click opens that."""
        link = line.rpartition("\n")[2]
        click = {"click": link} if link.startswith(("https://", "http://")) else {}
        await self._publish({"topic": reference.place, "message": _within(line), **click})

    async def check(self) -> Sequence[Finding]:
        """Whether the server is there."""
        try:
            health = await self._http.get("/v1/health")
        except httpx2.HTTPError as error:
            return [Finding(ok=False, text=f"no ntfy there: {type(error).__name__}", hint="check `server`")]
        if health.is_success:
            return [Finding(ok=True, text=f"ntfy at {self._http.base_url} is well")]
        return [Finding(ok=False, text=f"ntfy says {health.status_code}", hint="check `server`")]

    @override
    async def close(self) -> None:
        """Let go of the connection."""
        await self._http.aclose()

    async def _publish(self, body: dict[str, object]) -> dict[str, object]:
        try:
            reply = await self._http.post("/", json=body)
        except httpx2.HTTPError as error:
            raise Unavailable(f"ntfy cannot be reached: {type(error).__name__}") from error
        if reply.status_code == BUSY:
            # ntfy allows one more message every five seconds.
            raise Unavailable("ntfy is busy", after=5.0)
        if reply.status_code >= 500:
            raise Unavailable(f"ntfy cannot do it now: {reply.status_code}")
        if reply.status_code in NOT_LET_IN:
            raise SignedOut(
                f"ntfy says {reply.status_code}: check `token`, and that it may publish to the topic"
            )
        if reply.status_code == INVALID:
            raise FormRefused(f"ntfy says {reply.status_code}: {reply.text[:200]}")
        if not reply.is_success:
            raise Refused(f"ntfy says {reply.status_code}: {reply.text[:200]}")
        read: dict[str, object] = reply.json()
        return read


def _within(text: str) -> str:
    """A text within the bytes of a message; all of it is behind the link."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= LONGEST_BYTES else raw[: LONGEST_BYTES - 3].decode("utf-8", "ignore") + "…"


def _answers(view: View) -> list[dict[str, object]]:
    """Buttons that answer without opening the page: for up to two options, and never for an approval or a plan, which has to be seen whole."""
    asked = view.questions[0]
    if len(view.questions) > 1 or view.approval or view.plan:
        return []
    if asked.multi or not 1 <= len(asked.choices) <= MOST_ANSWERS:
        return []
    address = urlsplit(view.link)
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        # The page behind the link accepts only its own origin.
        "Origin": f"{address.scheme}://{address.netloc}",
    }
    # Two labels that begin alike would look alike once cut: their numbers, which the text lists, stand for them.
    fit = all(units(choice.full) <= LABEL for choice in asked.choices)
    return [
        {
            "action": "http",
            "label": choice.full if fit else str(position + 1),
            "url": view.link,
            "method": "POST",
            "headers": headers,
            "body": f"q0={position}",
            "clear": True,
        }
        for position, choice in enumerate(asked.choices)
    ]
