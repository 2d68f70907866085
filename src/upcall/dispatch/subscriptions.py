"""The browsers that are told by push, and the key by which push services know the daemon.

A subscription belongs to the session in which it was made: once that is over, nothing is sent to it any more.
"""

from collections.abc import Callable, Sequence

from upcall.access.tokens import Access, digest
from upcall.domain.channel.subscription import Subscription, subscription_in
from upcall.domain.errors import InvalidRequest
from upcall.domain.records import Effects, Record
from upcall.ports.store import Store

PUSH, KEY = "push", "push_key"
MOST = 50
LONGEST = 2000

NewKey = Callable[[], tuple[str, str]]
"""Makes a private and a public key."""


class Subscriptions:
    """Keeps them in the store. `in_use` is whether there is a push channel now, which new settings may bring or take away."""

    def __init__(self, store: Store, access: Access, new_key: NewKey) -> None:
        self._store = store
        self._access = access
        self._new_key = new_key
        self.in_use = True

    async def keys(self) -> tuple[str, str]:
        """The private and the public key of this installation, made when they are first needed and then never again."""
        kept = await self._store.look_up(KEY, KEY)
        if kept is None:
            private, public = self._new_key()
            made = Record(kind=KEY, key=KEY, body={"private": private, "public": public})
            # Of two daemons that make one at the same time, the first one's counts.
            kept = await self._store.revise(
                KEY, KEY, lambda found: Effects(records=(made,)) if found is None else None
            )
        assert kept is not None
        return str(kept.body["private"]), str(kept.body["public"])

    async def add(self, person: str, session: str, subscription: Subscription) -> None:
        """Let a browser be told what waits for a person.

        Raises:
            InvalidRequest: if it is not the address of a push service, there are too many of them, or there is no push channel.
        """
        if not self.in_use:
            raise InvalidRequest(
                "there is no push channel", hint="`upcall channels list` says which there are"
            )
        if not subscription.endpoint.startswith("https://") or len(subscription.endpoint) > LONGEST:
            raise InvalidRequest("endpoint: the https address of a push service")
        if (
            not (subscription.p256dh and subscription.auth)
            or len(subscription.p256dh + subscription.auth) > LONGEST
        ):
            raise InvalidRequest("keys: p256dh and auth of the subscription")
        others = [each for each in await self.of(person) if each.endpoint != subscription.endpoint]
        if len(others) >= MOST:
            raise InvalidRequest(
                f"endpoint: {MOST} browsers of one person at most", hint="sign some of them out"
            )
        await self.keep(person, session, subscription)

    async def keep(self, person: str, session: str, subscription: Subscription) -> None:
        """Write a subscription down."""
        kept = Record(
            kind=PUSH,
            key=digest(subscription.endpoint),
            state=person,
            at=self._store.now(),
            body={**subscription.body(), "session": session},
        )
        await self._store.revise(PUSH, kept.key, lambda _: Effects(records=(kept,)))

    async def of(self, person: str) -> Sequence[Subscription]:
        """Where a person can be reached. What belongs to a session that is over is forgotten on the way."""
        found = await self._store.records(PUSH, state=person, limit=2 * MOST)
        reached: list[Subscription] = []
        for kept in found.items:
            if await self._access.is_open(str(kept.body["session"])):
                reached.append(subscription_in(kept.body))
            else:
                await self.drop(str(kept.body["endpoint"]))
        return reached

    async def drop(self, endpoint: str) -> None:
        """Tell a browser nothing more."""
        key = digest(endpoint)
        await self._store.revise(
            PUSH, key, lambda kept: None if kept is None else Effects(forgotten=((PUSH, key),))
        )
