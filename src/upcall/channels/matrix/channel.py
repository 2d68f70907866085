"""Matrix: a bot's account in rooms that it was invited to. Nothing here encrypts, so nothing is posted in an encrypted room.

Every question and every change of it is sent once, however often it is tried, and reading goes on from where it ended,
so a restart neither repeats nor misses anything.
"""

import logging
from collections.abc import Mapping, Sequence

from upcall.channels import findings
from upcall.channels.addresses import guarded
from upcall.channels.matrix import messages, reading
from upcall.channels.matrix.api import HINTS, Homeserver, Synced
from upcall.channels.naming import message_name
from upcall.channels.words import sentences
from upcall.domain.channel.showing import Capabilities, Finding, Inbound, Reference, View
from upcall.ports.channel import Inbox, Line, Refused, Unavailable

MOST_INVITATIONS = 200

log = logging.getLogger("upcall.channels.matrix")


class Matrix:
    """One account on one homeserver."""

    capabilities: Capabilities = messages.CAPABILITIES

    def __init__(self, *, homeserver: str, access_token: str, language: str = "en") -> None:
        self._words: Mapping[str, str] = sentences(language)
        self._home = Homeserver(guarded("homeserver", homeserver), access_token, reading.TYPES)
        self._invitations: dict[str, str] = {}
        self._pairs: dict[str, bool] = {}

    async def show(self, view: View, place: str) -> Reference:
        """Post a message, and the reactions for its choices."""
        await self._home.sign_in()
        room = await self._home.room(place)
        event = await self._home.send(room, messages.message(view, self._words), view.inquiry, place)
        try:
            for key in messages.seeds(view):
                await self._home.react(room, messages.reaction(event, key), event, key)
        except (Refused, Unavailable) as problem:
            # People can add a reaction themselves, so a refused one holds up no question.
            log.info("reactions are left out: %s", problem)
        return Reference(place=place, message=message_name(room, event))

    async def refresh(self, reference: Reference, view: View) -> None:
        """Edit a message. Its reactions stay; a person who adds one late is told the outcome."""
        await self._home.sign_in()
        room, event = reading.room_and_event(reference.message)
        await self._home.send(room, messages.edit(view, event, self._words), event, view.stage)

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in reply to a message."""
        await self._home.sign_in()
        room, event = reading.room_and_event(reference.message)
        await self._home.send(room, messages.line(line, event))

    async def listen(self, inbox: Inbox) -> None:
        """Read new events from the bookmark on, which an earlier daemon may have kept."""
        await self._home.sign_in()
        # Another account's bookmark means nothing to this one.
        account, _, since = (await inbox.bookmark()).partition(" ")
        found = await self._home.sync("")
        await inbox.connected()
        await self._join(found, inbox)
        if account != self._home.user:
            # Of what was said before the first start, only replies to our messages count.
            await self._take(found, "", inbox)
            since = found.until
            await inbox.keep(f"{self._home.user} {since}")
        while True:
            found = await self._home.sync(since)
            await self._join(found, inbox)
            await self._take(found, since, inbox)
            if found.until != since:
                since = found.until
                await inbox.keep(f"{self._home.user} {since}")

    async def account(self) -> str:
        """The account's id."""
        await self._home.sign_in()
        return str(self._home.user)

    async def check(self) -> Sequence[Finding]:
        """The account's name, and in how many rooms it is."""
        try:
            await self._home.sign_in()
            rooms = await self._home.rooms()
        except (Refused, Unavailable) as problem:
            return [findings.refused("access_token", problem)]
        signed_in = Finding(ok=True, text=f"signed in as {self._home.user}")
        if not rooms:
            return [signed_in, Finding(ok=False, text="in no room", hint=HINTS["M_FORBIDDEN"])]
        return [signed_in, Finding(ok=True, text=f"in {rooms} {'room' if rooms == 1 else 'rooms'}")]

    async def close(self) -> None:
        """Let go of the connection."""
        await self._home.close()

    async def _take(self, found: Synced, since: str, inbox: Inbox) -> None:
        """Hand over the events of every room, in their order; without `since`, only those about our messages."""
        for news in found.rooms:
            missed = await self._home.between(news.room, since, news.cut_at) if since and news.cut_at else []
            for event in (*missed, *news.events):
                if event.get("type") == "m.room.member":
                    self._pairs.pop(news.room, None)
                done = reading.done(event, news.room)
                if done is not None and (since or done.targets):
                    await self._hear(done, inbox)

    async def _hear(self, done: reading.Done, inbox: Inbox) -> None:
        inbound = await self._inbound(done)
        if inbound is None:
            return
        line = self._words["encrypted"]
        if not done.encrypted:
            heard = await inbox.receive(inbound)
            if heard.again:
                raise Unavailable("what a person did could not be kept")
            line = heard.line
        if not line:
            return
        about = reading.room_and_event(inbound.message)[1] if inbound.message else ""
        to = {
            "room": done.room,
            "event": about if done.key else done.id,
            "about": about,
            "thread": done.thread,
            "user": done.user,
            "id": done.id,
        }
        await inbox.say(Line(id=inbound.id, to=to, text=line))

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say a line in reply to what a person did: there is no message that only one person sees."""
        await self._home.sign_in()
        content = messages.line(line, to["event"], about=to["about"], thread=to["thread"], to=to["user"])
        await self._home.send(to["room"], content, "told", to["id"])

    async def _inbound(self, done: reading.Done) -> Inbound | None:
        """What a person did, with the question that it is about; None if it does not concern Upcall."""
        for target in done.targets:
            event, found = await self._question(done.room, target)
            if found is not None:
                return reading.inbound(done, event, found)
        if done.key:
            return None
        called = (self._home.called, self._home.user, self._home.user[1:].partition(":")[0])
        inbound = reading.addressed(done, self._home.user, called)
        if inbound is None and await self._alone_with_us(done.room):
            inbound = reading.to_us(done, done.words)
        return inbound

    async def _question(self, room: str, event: str) -> tuple[str, reading.Mark | None]:
        """The question that an event is, or that a line of ours is about."""
        for _ in range(2):
            source = await self._home.event(room, event)
            found = None if source is None else reading.mark(source, self._home.user)
            if found is None or found.inquiry:
                return event, found
            event = found.about
        return event, None

    async def _alone_with_us(self, room: str) -> bool:
        """Whether a room has one person beside us, who can only mean us."""
        if room not in self._pairs:
            self._pairs[room] = await self._home.alone_with_us(room)
        return self._pairs[room]

    async def _join(self, found: Synced, inbox: Inbox) -> None:
        """Accept the invitations of people who may answer; the others wait until their senders may."""
        for room, sender in found.invitations.items():
            if len(self._invitations) < MOST_INVITATIONS:
                self._invitations[room] = sender
        for room, sender in list(self._invitations.items()):
            if not await inbox.knows(sender):
                continue
            del self._invitations[room]
            try:
                await self._home.join(room)
            except Refused as problem:
                log.warning("an invitation of %s cannot be accepted: %s", sender, problem)
