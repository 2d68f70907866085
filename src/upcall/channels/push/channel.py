"""Web Push: a line on a person's devices, sealed for their browsers, that leads to the question in the inbox.

Only what fits on a lock screen is sent, and of a secret question not even its words. A place is a person's name.
An action that is shown there whole can be approved and denied there, by a signed link for this person and this action alone;
everything else leads to the inbox.
"""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from aiohttp import ClientError
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from py_vapid import Vapid02  # type: ignore[import-untyped]  # it has no types
from pywebpush import WebPushException, webpush_async  # type: ignore[import-untyped]  # it has no types

from upcall.channels.plain import BAR, barred
from upcall.domain.channel.showing import Capabilities, Finding, Reference, View
from upcall.domain.channel.subscription import Subscription
from upcall.domain.text.display import one_line
from upcall.ports.channel import Inbox, Refused, SignedOut, Unavailable

KEPT_SECONDS = 24 * 3600
"""For how long a push service keeps what it cannot deliver."""

LONGEST_LINE = 300
MOST_LINES, LINE = 4, 40
"""What every system shows of a notification before it cuts: lines, and letters of the Latin script in each."""

VERDICTS = ("approve", "deny")
ANSWER_LINKS = "/a/"
"""Where a link to a page that needs no sign-in begins; that of a person who is not known begins with something else."""

GONE = (404, 410)
NOT_LET_IN = (401, 403)
TOO_MANY, THEIR_FAULT = 429, 500


class Recipients(Protocol):
    """The browsers of people, and the keys of this installation."""

    async def keys(self) -> tuple[str, str]:
        """The private and the public key of this installation."""
        ...

    async def of(self, person: str) -> Sequence[Subscription]:
        """The browsers of a person."""
        ...

    async def drop(self, endpoint: str) -> None:
        """Forget a browser that its vendor does not know any more."""
        ...


def new_key() -> tuple[str, str]:
    """A private and a public key, as browsers and the library want them."""
    made = ec.generate_private_key(ec.SECP256R1())
    private = made.private_numbers().private_value.to_bytes(32, "big")
    public = made.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return _text(private), _text(public)


class Push:
    """Every browser with a subscription."""

    capabilities = Capabilities(replies=False, link=True, personal=True, body=1_000_000)

    def __init__(self, recipients: Recipients, subject: str) -> None:
        self._recipients = recipients
        self._subject = subject

    async def show(self, view: View, place: str) -> Reference:
        """Tell every browser of a person. Raises as the port says."""
        await self._send(place, payload(view, quiet=False))
        return Reference(place=place, message=f"{view.inquiry}@{place}")

    async def refresh(self, reference: Reference, view: View) -> None:
        """Replace the notification with the present state, without a sound. Raises as the port says."""
        await self._send(reference.place, payload(view, quiet=True))

    async def tell(self, reference: Reference, line: str) -> None:
        """Remind a person. Raises as the port says."""
        inquiry = reference.message.partition("@")[0]
        await self._send(
            reference.place,
            {"title": line, "body": "", "tag": inquiry, "quiet": False},
        )

    async def listen(self, inbox: Inbox) -> None:
        """Wait: a click leads to the inbox, and nothing is said here."""
        await inbox.connected()
        await asyncio.Event().wait()

    async def check(self) -> Sequence[Finding]:
        """Whether there is a key; who is reached depends on the person."""
        _, public = await self._recipients.keys()
        return [Finding(ok=True, text=f"the public key begins with {public[:12]}")]

    async def close(self) -> None:
        """Nothing is held."""

    async def _send(self, person: str, payload: dict[str, object]) -> None:
        private, _ = await self._recipients.keys()
        reached, problem = 0, ""
        busy: Unavailable | None = None
        for subscription in await self._recipients.of(person):
            try:
                await self._one(subscription, json.dumps(payload, ensure_ascii=False), private)
                reached += 1
            except Unavailable as error:
                busy = error
            except Refused as error:
                problem = str(error)
        if reached:
            return
        if busy is not None:
            raise busy
        raise Refused(problem or f"no browser of {person!r} is signed in and wants to be told")

    async def _one(self, subscription: Subscription, payload: str, private: str) -> None:
        try:
            await webpush_async(
                {
                    "endpoint": subscription.endpoint,
                    "keys": {"p256dh": subscription.p256dh, "auth": subscription.auth},
                },
                payload,
                vapid_private_key=Vapid02.from_string(private),
                vapid_claims={"sub": self._subject},
                ttl=KEPT_SECONDS,
                timeout=20,
            )
        except WebPushException as error:
            status = error.status_code or 0
            # Without a response nothing was sent: the keys of the subscription are invalid.
            if status in GONE or error.response is None:
                await self._recipients.drop(subscription.endpoint)
            if status == TOO_MANY or status >= THEIR_FAULT:
                raise Unavailable(f"the push service says {status}", after=_pause(error)) from error
            if status in NOT_LET_IN:
                raise SignedOut(f"the push service says {status}: check `subject`") from error
            raise Refused(f"the push service says {status or 'nothing'}") from error
        except (ClientError, OSError) as error:
            raise Unavailable(f"the push service cannot be reached: {type(error).__name__}") from error
        except ValueError as error:
            await self._recipients.drop(subscription.endpoint)
            raise Refused("the keys of this browser are none") from error


def payload(view: View, *, quiet: bool) -> dict[str, object]:
    """The notification of a view."""
    # What an agent wrote stands behind a bar, so that it cannot pass for how a question ended.
    told = view.outcome or ("" if view.secret else f"{BAR} {view.questions[0].text}")
    whole = _whole_action(view)
    offered = [
        {"action": name, "title": choice.full}
        for name, choice in zip(VERDICTS, view.questions[0].choices if whole else (), strict=False)
    ]
    return {
        "title": one_line(view.heading, 120),
        "body": whole or one_line(told, LONGEST_LINE),
        "tag": view.inquiry,
        "quiet": quiet,
        **({"actions": offered, "answer": urlsplit(view.link).path} if offered else {}),
    }


def _whole_action(view: View) -> str:
    """An action that a notification shows to its last letter, with all that belongs to it; else nothing."""
    offers = view.approval and view.outcome is None and urlsplit(view.link).path.startswith(ANSWER_LINKS)
    if not offers or view.secret or view.more or view.heading != one_line(view.heading, 2 * LINE):
        return ""
    parts = (view.questions[0].text, view.context)
    lines = [line for part in parts if part.strip() for line in barred(part)]
    rows = sum(-(-sum(1 if letter.isascii() else 2 for letter in line) // LINE) for line in lines)
    return "\n".join(lines) if rows <= MOST_LINES else ""


def _pause(error: WebPushException) -> float | None:
    after = error.retry_after or ""
    return float(after) if after.isascii() and after.isdigit() else None


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
