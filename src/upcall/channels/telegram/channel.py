"""Telegram through aiogram: long polling, so nothing of ours has to be reachable from outside, or a webhook.

An update is confirmed once it is kept, so an update that a crash interrupts is delivered again.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from aiogram import Bot
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import PRODUCTION, TelegramAPIServer
from aiogram.exceptions import AiogramError
from aiogram.types import LinkPreviewOptions, ReplyParameters

from upcall.channels import findings
from upcall.channels.naming import conversation_and_id, message_name
from upcall.channels.plain import numbered
from upcall.channels.telegram import messages
from upcall.channels.telegram.errors import failure
from upcall.channels.telegram.files import fetched
from upcall.channels.telegram.form_state import FormState
from upcall.channels.telegram.markup import entities, keyboard
from upcall.channels.telegram.messages import Content
from upcall.channels.telegram.reading import Command, Note, Payload, Press, album_of, together, understood
from upcall.channels.words import sentences
from upcall.domain.channel.showing import (
    Capabilities,
    Finding,
    Given,
    Heard,
    Inbound,
    Reference,
    SentFile,
    View,
)
from upcall.domain.errors import InvalidRequest, StorageError
from upcall.domain.text.display import shortened, units
from upcall.ports.channel import (
    Callback,
    CallbackReply,
    FormRefused,
    Inbox,
    Line,
    Refused,
    Unavailable,
)
from upcall.ports.json_reading import read_json

CALL_SECONDS = 15
POLL_SECONDS = 50
ALBUM_SECONDS = 1.0
"""How long the rest of an album is waited for."""

HEARD = ["message", "callback_query", "message_reaction"]
TOKEN = re.compile(r"[0-9]+:[A-Za-z0-9_-]+")
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - the header's name, not what it holds
NO_PREVIEW = LinkPreviewOptions(is_disabled=True)
TOO_LONG = "this is too long for one message in Telegram"
T = TypeVar("T")

log = logging.getLogger("upcall.channels.telegram")


class Telegram:
    """One bot. With a `webhook_secret`, Telegram calls us at `url`; without one, we ask."""

    capabilities: Capabilities = messages.CAPABILITIES

    def __init__(
        self,
        *,
        bot_token: str,
        webhook_secret: str = "",
        url: str = "",
        api_url: str = "",
        language: str = "en",
    ) -> None:
        if not TOKEN.fullmatch(bot_token):
            raise ValueError("bot_token looks like 123456789:AAE…, as @BotFather gives it")
        if webhook_secret and not url.startswith("https://"):
            raise ValueError("webhook_secret needs public_url, an address with https that Telegram can reach")
        self._secret = webhook_secret
        self._url = url
        self._words: Mapping[str, str] = sentences(language)
        self._last_plain = ""
        server = TelegramAPIServer.from_base(api_url) if api_url else PRODUCTION
        self._bot = Bot(bot_token, session=AiohttpSession(api=server, timeout=CALL_SECONDS))

    async def show(self, view: View, place: str) -> Reference:
        """Post a message without buttons, which its first refresh adds; a place is a chat's id, and a topic's after a slash.

        Telegram neither knows a repetition nor lets a bot look into a chat: if a crash leaves the message unrecorded, it is
        sent again, and the first one has nothing to press.
        """
        try:
            sent = await self._post(place, _fitting(messages.announcement, view, self._words))
        except FormRefused as problem:
            sent = await self._post(place, self._plain(view, problem))
        return Reference(place=place, message=sent)

    async def refresh(self, reference: Reference, view: View) -> None:
        """Replace a message's content."""
        try:
            await self._edit(reference.message, _fitting(messages.message, view, self._words))
        except FormRefused as problem:
            await self._edit(reference.message, self._plain(view, problem))

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in reply to a message."""
        await self._post(reference.place, messages.line(line), reply_to=reference.message)

    async def listen(self, inbox: Inbox) -> None:
        """Poll for updates, or set the webhook and wait."""
        if self._secret:
            await self._call(
                self._bot.set_webhook(self._url, secret_token=self._secret, allowed_updates=HEARD)
            )
            await inbox.connected()
            await asyncio.Event().wait()
        await self._call(self._bot.delete_webhook())
        await inbox.connected()
        offset: int | None = None
        while True:
            updates = await self._updates(offset)
            if updates and album_of(updates[-1]):
                # The rest of an album may come in a moment; nothing is confirmed yet, so this one comes again with it.
                await asyncio.sleep(ALBUM_SECONDS)
                updates = await self._updates(offset)
            for update in together(updates):
                if await self._take(_understood(update), inbox):
                    # Not confirmed, so it comes again as soon as we listen again.
                    raise Unavailable("what a person did could not be kept")
                offset = int(update["update_id"]) + 1

    async def _updates(self, offset: int | None) -> list[Payload]:
        updates = await self._call(
            self._bot.get_updates(
                offset=offset,
                timeout=POLL_SECONDS,
                allowed_updates=HEARD,
                request_timeout=POLL_SECONDS + CALL_SECONDS,
            )
        )
        return [each.model_dump(mode="json", by_alias=True, exclude_unset=True) for each in updates]

    async def fetch(self, file: SentFile, most: int) -> bytes:
        """Download a file that a person sent."""
        found = await self._call(self._bot.get_file(file.at))
        return await fetched(self._bot, found.file_path or "", most, CALL_SECONDS)

    async def called(self, callback: Callback, inbox: Inbox) -> CallbackReply:
        """Take an update over the webhook; Telegram repeats one that is not confirmed."""
        given = callback.headers.get(SECRET_HEADER, "")
        if not self._secret or not hmac.compare_digest(given.encode(), self._secret.encode()):
            return CallbackReply(status=403)
        try:
            done = understood(cast("dict[str, Any]", read_json(callback.body)))
        except (InvalidRequest, ValueError, TypeError, KeyError, AttributeError):
            log.exception("Telegram has sent something that is no update")
            return CallbackReply(status=400)
        return CallbackReply(status=503 if await self._take(done, inbox) else 200)

    async def account(self) -> str:
        """The bot's name."""
        return f"@{(await self._call(self._bot.get_me())).username}"

    async def check(self) -> Sequence[Finding]:
        """The bot's name, and how it receives updates."""
        try:
            found = await self._call(self._bot.get_me())
            hook = await self._call(self._bot.get_webhook_info())
        except (Refused, Unavailable) as problem:
            return [findings.refused("bot_token", problem)]
        signed_in = Finding(ok=True, text=f"signed in as @{found.username}")
        if not self._secret:
            return [signed_in, Finding(ok=True, text="asks Telegram for what people do")]
        problem_there = hook.last_error_message or ""
        called = Finding(
            ok=hook.url == self._url and not problem_there,
            text=f"Telegram calls {hook.url or 'no address'}{f': {problem_there}' if problem_there else ''}",
            hint=f"it has to reach {self._url}",
        )
        return [signed_in, called]

    async def close(self) -> None:
        """Let go of every connection."""
        await self._bot.session.close()

    async def _take(self, done: Press | Note | Command | None, inbox: Inbox) -> bool:
        """Hand over what a person did. Returns whether it has to come again, because it could not be kept."""
        heard = Heard(line="", accepted=False)
        try:
            match done:
                case Press() as press:
                    heard = await self._press(press, inbox)
                    await self._toast(press, heard.line, inbox)
                case Note() as note:
                    heard = await self._note(note, inbox)
                    if heard.line:
                        await inbox.say(_line(note.inbound.id, note.inbound.place, note.name, heard.line))
                case Command() as command:
                    await self._obey(command, inbox)
                case None:
                    pass
        except (Refused, Unavailable) as problem:
            log.warning("a person could not be told: %s", problem)
        except StorageError:
            log.exception("an update could not be kept")
            return True
        except Exception:
            # It would fail again, and the updates after it would wait for ever.
            log.exception("an update is left alone")
        return heard.again

    async def _press(self, press: Press, inbox: Inbox) -> Heard:
        if press.pressed.state.step is None:
            return await inbox.receive(press.inbound)
        return await self._step(press.inbound, press.pressed.state, inbox)

    async def _note(self, note: Note, inbox: Inbox) -> Heard:
        """Take words; in reply to a form, they answer the question that is asked now."""
        if note.form is None or note.inbound.odd is not None:
            return await inbox.receive(note.inbound)
        view = await inbox.view(note.form.inquiry)
        if note.form.state.step is None or view is None or view.outcome is not None:
            return await inbox.receive(note.inbound)
        state, step, said = note.form.state, note.form.state.step, note.inbound
        if len(view.questions) != len(state.given):
            # Other bots have buttons too.
            return await inbox.receive(said)
        if not view.questions[step].custom and view.questions[step].choices:
            known = await inbox.knows(said.user)
            return Heard(line=self._words["only_options" if known else "unknown_person"], accepted=False)
        state = state.with_given(step, Given(words=said.words)).at(step + 1)
        about = Inbound(
            id=said.id,
            user=said.user,
            place=said.place,
            message=said.message,
            inquiry=note.form.inquiry,
            given=state.given,
            files=said.files,
        )
        if state.step is None:
            return await inbox.receive(about)
        return self._without_files(said, await self._step(about, state, inbox))

    def _without_files(self, said: Inbound, heard: Heard) -> Heard:
        """Tell that files were left out: a form keeps nothing but words until it is sent."""
        lines = [
            self._words["file.refused"].format(name=file.name, why=self._words["file.last"])
            for file in said.files
        ]
        return replace(heard, line="\n".join([heard.line, *lines]).strip())

    async def _step(self, inbound: Inbound, state: FormState, inbox: Inbox) -> Heard:
        """Edit the message of a form: show what is chosen so far, and the next question."""
        if not await inbox.knows(inbound.user):
            return Heard(line=self._words["unknown_person"], accepted=False)
        view = await inbox.view(inbound.inquiry or "")
        if view is None:
            return Heard(line=self._words["no_question"], accepted=False)
        if view.outcome is not None or len(view.questions) != len(state.given):
            # It is over: the worker brings the message up to date.
            return Heard(line=self._words["late"].format(outcome=view.outcome or ""), accepted=False)
        assert inbound.message is not None
        try:
            content = messages.message(view, self._words, state)
            try:
                await self._edit(inbound.message, content)
            except FormRefused as problem:
                # Without buttons the form could not go on, so all questions are asked in one text.
                await self._edit(inbound.message, self._plain(view, problem))
            now = await inbox.view(view.inquiry)
            if now is not None and now.outcome is not None:
                # It was settled meanwhile, and this edit may have overwritten the outcome.
                await self._edit(inbound.message, messages.message(now, self._words))
        except messages.TooLong:
            return Heard(line=self._words["too_long"], accepted=False)
        except (Refused, Unavailable) as problem:
            log.warning("a message could not be changed: %s", problem)
            return Heard(line=self._words["unavailable"], accepted=False)
        return Heard(line="", accepted=True)

    def _plain(self, view: View, problem: FormRefused) -> Content:
        """A view as numbered text, where Telegram refuses its entities or buttons."""
        if view.ref != self._last_plain:
            # The announcement and its completion are refused alike, and said once.
            log.warning("%s is sent to Telegram as plain text: %s", view.ref, problem)
        self._last_plain = view.ref
        text = numbered(view, self._words)
        if units(text) > messages.LONGEST and view.outcome is None:
            raise Refused(TOO_LONG)
        return Content(text=shortened(text, messages.LONGEST))

    async def _obey(self, command: Command, inbox: Inbox) -> None:
        said = self._words["place"].format(place=command.place)
        if not await inbox.knows(command.user):
            said = f"{self._words['unknown_person']}\n{said}"
        await inbox.say(_line(f"command:{command.name}", command.place, command.name, said))

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say a line in reply to what a person did."""
        await self._post(to["place"], messages.line(line), reply_to=to["reply_to"] or None)

    async def _post(self, place: str, content: Content, reply_to: str | None = None) -> str:
        chat, _, topic = place.partition("/")
        to = None
        if reply_to is not None:
            to = ReplyParameters(
                message_id=int(conversation_and_id(reply_to)[1]), allow_sending_without_reply=True
            )
        sent = await self._call(
            self._bot.send_message(
                chat,
                content.text,
                message_thread_id=int(topic) if topic.isdigit() else None,
                parse_mode=None,
                entities=entities(content),
                link_preview_options=NO_PREVIEW,
                reply_parameters=to,
                reply_markup=keyboard(content),
            )
        )
        return message_name(sent.chat.id, sent.message_id)

    async def _edit(self, name: str, content: Content) -> None:
        chat, number = conversation_and_id(name)
        try:
            await self._call(
                self._bot.edit_message_text(
                    content.text,
                    chat_id=chat,
                    message_id=int(number),
                    parse_mode=None,
                    entities=entities(content),
                    link_preview_options=NO_PREVIEW,
                    reply_markup=keyboard(content),
                )
            )
        except Refused as problem:
            if "message is not modified" not in str(problem):
                raise

    async def _toast(self, press: Press, line: str, inbox: Inbox) -> None:
        """Acknowledge a press, with its line in an alert; if that fails, the line is said in the chat."""
        text = shortened(line, messages.LONGEST_TOAST)
        try:
            await self._call(
                self._bot.answer_callback_query(press.query, text=text or None, show_alert=bool(text))
            )
        except (Refused, Unavailable) as problem:
            log.info("a press could not be acknowledged: %s", problem)
            done = press.inbound
            if line:
                await inbox.say(_line(done.id, done.place, done.message or "", line))

    async def _call(self, calling: Awaitable[T]) -> T:
        try:
            return await calling
        except AiogramError as error:
            raise failure(error) from error


def _line(name: str, place: str, reply_to: str, text: str) -> Line:
    return Line(id=name, to={"place": place, "reply_to": reply_to}, text=text)


def _understood(update: Payload) -> Press | Note | Command | None:
    """What a person did; None also for an update that cannot be read."""
    try:
        return understood(update)
    except Exception:
        log.exception("the update %s cannot be read, and is left alone", update["update_id"])
        return None


def _fitting(
    rendered: Callable[[View, Mapping[str, str]], Content], view: View, words: Mapping[str, str]
) -> Content:
    try:
        return rendered(view, words)
    except messages.TooLong as error:
        raise Refused(TOO_LONG) from error
