"""Discord through discord.py: a bot on the gateway, so nothing of ours has to be reachable from outside.

What a person pressed is acknowledged once it is kept, because Discord does not deliver it again. Discord waits for
three seconds; so do we, almost, and then acknowledge what is still on its way.
"""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import discord
from discord.gateway import DiscordWebSocket
from discord.http import Route
from yarl import URL

from upcall.channels import findings
from upcall.channels.addresses import guarded
from upcall.channels.discord import messages, reading
from upcall.channels.naming import conversation_and_id, message_name
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import plain
from upcall.domain.channel.showing import Capabilities, Finding, Inbound, Odd, Reference, SentFile, View
from upcall.domain.errors import StorageError
from upcall.ports.channel import FormRefused, Inbox, Line, Refused, SignedOut, Unavailable

FORM_SECONDS = 2.0
"""How long the form of a question may take to open; Discord gives up after three seconds."""

ACKNOWLEDGE_SECONDS = 2.0
"""How long a press may take to be kept; Discord gives up after three seconds."""

LONGEST_WAIT = 30.0
"""The library waits for a rate limit of up to so many seconds, in order, and raises for a longer one."""

INTENTS = discord.Intents(
    guilds=True,
    guild_messages=True,
    dm_messages=True,
    message_content=True,
    guild_reactions=True,
    dm_reactions=True,
)
DEFER, REPLY, OPEN = 6, 4, 9
INVALID_FORM = 50035
"""The error code for a message or a form that Discord does not accept in this form."""

INTENT = "switch on Message Content Intent under Bot, Privileged Gateway Intents"
AUTHENTICATION_FAILED = 4004
HINTS = {
    AUTHENTICATION_FAILED: "bot_token is the one under Bot, Token",
    4014: INTENT,
    10003: "use the channel's id: switch on Developer Mode, then Copy Channel ID",
    50001: "let the bot see that channel: View Channel",
    50007: "they take no direct messages from the bot: they have to share a server with it, and allow them",
    50013: "the bot needs View Channel, Send Messages and Read Message History there",
}

log = logging.getLogger("upcall.channels.discord")


class Discord:
    """One bot."""

    capabilities: Capabilities = messages.CAPABILITIES

    def __init__(self, *, bot_token: str, api_url: str = "", language: str = "en") -> None:
        # The library's debug lines hold people's messages, and its warnings are about voice.
        logging.getLogger("discord").setLevel(logging.ERROR)
        self._elsewhere = bool(api_url)
        if api_url:
            # The library knows one address, for the whole process.
            Route.BASE = guarded("api_url", api_url)
        self._token = bot_token
        self._words: Mapping[str, str] = sentences(language)
        self._client: discord.Client | None = None
        self._signing_in = asyncio.Lock()
        self._closed = False

    async def show(self, view: View, place: str) -> Reference:
        """Post a message; a place that begins with @ is a person, in their direct messages."""
        channel = await self._direct(place[1:]) if place.startswith("@") else place
        # If the reply to the first attempt was lost, Discord answers a repetition within a few minutes with the same message.
        once = {"nonce": _nonce(view.inquiry, place), "enforce_nonce": True}
        path = "/channels/{channel_id}/messages"
        sent = await self._write(view, "POST", path, once, channel_id=channel)
        return Reference(place=place, message=message_name(channel, str(sent["id"])))

    async def refresh(self, reference: Reference, view: View) -> None:
        """Replace a message's content."""
        channel, message = conversation_and_id(reference.message)
        path = "/channels/{channel_id}/messages/{message_id}"
        await self._write(view, "PATCH", path, {}, channel_id=channel, message_id=message)

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in reply to a message."""
        await self._say(*conversation_and_id(reference.message), line)

    async def listen(self, inbox: Inbox) -> None:
        """Listen on the gateway. The library resumes a lost connection if that works at once; otherwise messages are missed."""
        if self._elsewhere:
            DiscordWebSocket.DEFAULT_GATEWAY = URL(str((await self._call("GET", "/gateway/bot"))["url"]))
        gateway = _Gateway(self, inbox)
        try:
            await gateway.start(self._token, reconnect=False)
        except discord.ConnectionClosed as error:
            if error.code == AUTHENTICATION_FAILED:
                raise SignedOut(f"Discord says {error.code}: {HINTS[error.code]}") from error
            if error.code in HINTS:
                raise Refused(f"Discord says {error.code}: {HINTS[error.code]}") from error
            raise Unavailable(f"Discord has closed the connection: {error.code}") from error
        except (discord.DiscordException, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failure(error) from error
        finally:
            await gateway.close()
        raise Unavailable("Discord has closed the connection")

    async def account(self) -> str:
        """The bot's name."""
        return str((await self._signed_in()).user)

    async def check(self) -> Sequence[Finding]:
        """The bot's name, and whether it may read messages."""
        try:
            client = await self._signed_in()
        except (Refused, Unavailable) as problem:
            return [findings.refused("bot_token", problem)]
        found = [Finding(ok=True, text=f"signed in as {client.user}")]
        flags = None if client.application is None else client.application.flags
        if flags is None or not (flags.gateway_message_content or flags.gateway_message_content_limited):
            return [*found, Finding(ok=False, text="it may not read what people write", hint=INTENT)]
        return [*found, Finding(ok=True, text="it may read what people write")]

    async def close(self) -> None:
        """Close the connection; a line that is still to be said opens no other."""
        async with self._signing_in:
            self._closed = True
            client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def press(self, interaction: discord.Interaction, inbox: Inbox) -> None:
        """Take a press, a choice or a form."""
        data: Mapping[str, Any] = interaction.data or {}
        sent = interaction.type is discord.InteractionType.modal_submit
        what = reading.submitted(data) if sent else reading.pressed(data)
        # Discord may leave out in which channel it was: then the question's own record says so.
        channel = "" if interaction.channel_id is None else str(interaction.channel_id)
        if what is None:
            return
        message = ""
        if interaction.message is not None and channel:
            message = message_name(channel, str(interaction.message.id))
        inbound = reading.inbound(
            what, interaction=str(interaction.id), user=str(interaction.user.id), message=message
        )
        if what.given is None:
            await self._open(interaction, inbox, inbound, own=what.own)
            return
        receiving = asyncio.create_task(inbox.receive(inbound))
        await asyncio.wait({receiving}, timeout=ACKNOWLEDGE_SECONDS)
        line = receiving.result().line if receiving.done() else ""
        try:
            await self._respond(interaction, _whispered(line) if line else {"type": DEFER})
        except (Refused, Unavailable) as problem:
            # The press counts; its line is said beside the question.
            log.warning("a press could not be acknowledged: %s", problem)
            line = (await receiving).line
            if line and message:
                await inbox.say(Line(id=inbound.id, to={"beside": message}, text=line))
            return
        heard = await receiving
        if heard.line and not line:
            to = {"app": str(interaction.application_id), "token": interaction.token, "beside": message}
            await inbox.say(Line(id=inbound.id, to=to, text=heard.line))

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say a line to the person who pressed something, or in reply to a message."""
        if "token" in to:
            try:
                await self._call(
                    "POST",
                    "/webhooks/{webhook_id}/{webhook_token}",
                    messages.plain(line) | {"flags": messages.EPHEMERAL},
                    webhook_id=to["app"],
                    webhook_token=to["token"],
                )
                return
            except (Refused, SignedOut):
                # A press can be replied to for a quarter of an hour; after that it is said beside the question.
                if not to["beside"]:
                    raise
        await self._say(*conversation_and_id(to["beside"]), line)

    async def hear(self, message: discord.Message, us: int, inbox: Inbox) -> None:
        """Take a message: a reply, a direct message, or one that mentions the bot."""
        # Bots and webhooks are not people, so their messages answer nothing.
        if message.author.bot or message.webhook_id is not None or message.is_system():
            return
        channel, replied = str(message.channel.id), message.reference and message.reference.message_id
        words = message.content
        called = any(user.id == us for user in message.mentions)
        if replied is None and not called and not isinstance(message.channel, discord.DMChannel):
            return
        for name in (f"<@{us}>", f"<@!{us}>"):
            words = words.replace(name, "") if called else words
        inbound = Inbound(
            id=f"message:{message.id}",
            user=str(message.author.id),
            place=channel,
            message=None if replied is None else message_name(channel, str(replied)),
            words=words.strip(),
            files=tuple(SentFile(name=file.filename) for file in message.attachments),
            # A sticker, a voice message or a picture: without words it says nothing.
            odd=None if words.strip() else Odd.MESSAGE,
            at=message.created_at.timestamp(),
        )
        heard = await inbox.receive(inbound)
        if heard.line:
            to = {"beside": message_name(channel, str(message.id))}
            await inbox.say(Line(id=inbound.id, to=to, text=heard.line))

    async def notice(self, reaction: discord.RawReactionActionEvent, inbox: Inbox) -> None:
        """Take a reaction, which is no answer."""
        channel, message = str(reaction.channel_id), str(reaction.message_id)
        inbound = Inbound(
            id=f"reaction:{message}:{reaction.user_id}:{reaction.emoji}",
            user=str(reaction.user_id),
            place=channel,
            message=message_name(channel, message),
            odd=Odd.REACTION,
        )
        heard = await inbox.receive(inbound)
        if heard.line:
            to = {"beside": message_name(channel, message)}
            await inbox.say(Line(id=inbound.id, to=to, text=heard.line))

    async def _open(
        self, interaction: discord.Interaction, inbox: Inbox, inbound: Inbound, *, own: bool
    ) -> None:
        line = self._words["unavailable"]
        try:
            async with asyncio.timeout(FORM_SECONDS):
                view = await inbox.view(inbound.inquiry or "")
        except TimeoutError:
            pass
        except StorageError:
            log.exception("a form could not be made")
        else:
            if view is not None and view.outcome is None:
                form = messages.form(view, self._words, own=own)
                try:
                    await self._respond(interaction, {"type": OPEN, "data": form})
                    return
                except Refused as problem:
                    log.warning("the form of %s could not be opened: %s", view.ref, problem)
                    line = self._words["form_failed"].format(link=view.page)
            else:
                line = self._words["no_question"] if view is None else view.outcome or ""
        await self._respond(interaction, _whispered(line))

    async def _write(
        self, view: View, method: str, path: str, more: dict[str, Any], **parameters: str
    ) -> Any:
        """Send or edit a message; where Discord refuses its controls, as numbered text."""
        try:
            return await self._call(method, path, _body(view, self._words) | more, **parameters)
        except FormRefused as problem:
            log.warning("%s is sent to Discord as plain text: %s", view.ref, problem)
        return await self._call(
            method, path, _body(plain(view, self._words), self._words) | more, **parameters
        )

    async def _respond(self, interaction: discord.Interaction, reply: Mapping[str, Any]) -> None:
        await self._call(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            reply,
            webhook_id=str(interaction.id),
            webhook_token=interaction.token,
        )

    async def _say(self, channel: str, message: str, line: str) -> None:
        reply = {"message_reference": {"message_id": message, "fail_if_not_exists": False}}
        body = messages.plain(line) | reply
        await self._call("POST", "/channels/{channel_id}/messages", body, channel_id=channel)

    async def _direct(self, user: str) -> str:
        """The channel of direct messages with a person."""
        return str((await self._call("POST", "/users/@me/channels", {"recipient_id": user}))["id"])

    async def _signed_in(self) -> discord.Client:
        async with self._signing_in:
            if self._client is not None:
                return self._client
            if self._closed:
                raise Unavailable("the channel is closed")
            client = discord.Client(intents=INTENTS, max_ratelimit_timeout=LONGEST_WAIT)
            done = False
            try:
                await client.login(self._token)
                done = True
            except (discord.DiscordException, aiohttp.ClientError, TimeoutError, OSError) as error:
                raise _failure(error) from error
            finally:
                if not done:
                    await client.close()
            self._client = client
            return client

    async def _call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, **parameters: str
    ) -> Any:
        client = await self._signed_in()
        sent: dict[str, Any] = {} if body is None else {"json": dict(body)}
        try:
            return await client.http.request(Route(method, path, **parameters), **sent)
        except (discord.DiscordException, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise _failure(error) from error


class _Gateway(discord.Client):
    """The gateway connection, which delivers what people do."""

    def __init__(self, channel: Discord, inbox: Inbox) -> None:
        super().__init__(intents=INTENTS)
        self._channel = channel
        self._inbox = inbox

    async def on_ready(self) -> None:
        await self._inbox.connected()

    async def on_resumed(self) -> None:
        await self._inbox.connected()

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        try:
            await self._channel.press(interaction, self._inbox)
        except (Refused, Unavailable) as problem:
            log.warning("a person could not be told: %s", problem)

    async def on_message(self, message: discord.Message) -> None:
        try:
            await self._channel.hear(message, self.user.id if self.user else 0, self._inbox)
        except (Refused, Unavailable) as problem:
            log.warning("a person could not be told: %s", problem)

    async def on_raw_reaction_add(self, reaction: discord.RawReactionActionEvent) -> None:
        try:
            await self._channel.notice(reaction, self._inbox)
        except (Refused, Unavailable) as problem:
            log.warning("a person could not be told: %s", problem)


def _failure(error: Exception) -> Refused | Unavailable:
    match error:
        case discord.RateLimited():
            return Unavailable("Discord is busy", after=error.retry_after)
        case discord.LoginFailure():
            return SignedOut(f"Discord says 401: {HINTS[AUTHENTICATION_FAILED]}")
        case discord.HTTPException() if error.status == 401:
            return SignedOut(f"Discord says 401: {HINTS[AUTHENTICATION_FAILED]}")
        case discord.HTTPException() if error.code == INVALID_FORM:
            return FormRefused(f"Discord says {error.code} {error.text}")
        case discord.HTTPException() if error.status < 500 and error.status != 429:
            hint = f": {HINTS[error.code]}" if error.code in HINTS else ""
            return Refused(f"Discord says {error.code or error.status} {error.text}{hint}")
        case discord.HTTPException():
            return Unavailable(f"Discord cannot do it now: {error.status}")
        case _:
            return Unavailable(f"Discord cannot be reached: {type(error).__name__}")


def _body(view: View, words: Mapping[str, str]) -> dict[str, Any]:
    body = messages.message(view, words)
    if len(body["content"]) > messages.LONGEST:
        raise Refused(f"it is longer than the {messages.LONGEST} characters that Discord takes")
    return body


def _whispered(line: str) -> dict[str, Any]:
    """A reply to a press that only the person who pressed sees."""
    return {"type": REPLY, "data": messages.plain(line) | {"flags": messages.EPHEMERAL}}


def _nonce(*parts: str) -> str:
    """A nonce of at most 25 characters, the same for the same message."""
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:24]
