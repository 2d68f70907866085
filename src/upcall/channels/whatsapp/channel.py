"""WhatsApp through Meta's Cloud API: messages are sent with calls, and callbacks deliver what people do.

Messages cannot be changed there, so what became of a question is said in reply to it. That a message was taken does not mean
that it was sent: a receipt says so, and it is waited for.
"""

import asyncio
import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from upcall.channels import findings
from upcall.channels.whatsapp import messages
from upcall.channels.whatsapp.api import Graph, WindowOver, failure
from upcall.channels.whatsapp.messages import Tag
from upcall.channels.whatsapp.reading import Receipt, done, receipts
from upcall.channels.whatsapp.receipts import Receipts
from upcall.channels.words import sentences
from upcall.domain.channel.degrading import plain
from upcall.domain.channel.showing import Capabilities, Finding, Inbound, Odd, Reference, View
from upcall.domain.errors import InvalidRequest
from upcall.domain.text.display import inert
from upcall.ports.channel import Callback, CallbackReply, FormRefused, Inbox, Line, Refused, Unavailable
from upcall.ports.json_reading import read_json

RECORD_SECONDS = 60.0
"""How long it takes at most until a message is on record, at this daemon or another one."""

PHONE = re.compile(r"[0-9]{5,20}")
USER = re.compile(r"[A-Z]{2}\.[A-Za-z0-9.]+")

log = logging.getLogger("upcall.channels.whatsapp")


class WhatsApp:
    """One number of a business, which is called at `url`."""

    capabilities: Capabilities = messages.CAPABILITIES

    def __init__(
        self,
        *,
        access_token: str,
        phone_number_id: str,
        app_secret: str,
        verify_token: str,
        template: str = "",
        template_language: str = "en",
        url: str = "",
        api_url: str = "",
        language: str = "en",
    ) -> None:
        self._number = phone_number_id
        self._app_secret = app_secret.encode()
        self._verify_token = verify_token.encode()
        self._template = (template, template_language)
        self._url = url
        self._words: Mapping[str, str] = sentences(language)
        self._graph = Graph(access_token, api_url)
        self._receipts = Receipts()

    async def show(self, view: View, place: str) -> Reference:
        """Send a question to a person; outside of the 24 hours in which that is allowed, within a template."""
        tag = Tag(inquiry=view.inquiry, attempt=secrets.token_hex(8), place=place)
        with self._receipts.sending(tag):
            try:
                sent = await self._asked_or_in_template(view, tag)
            except messages.Unshowable as problem:
                raise Refused(str(problem)) from problem
        return Reference(place=place, message=sent)

    async def find(self, view: View, place: str) -> Reference | None:
        """The message of which a receipt says that it shows an inquiry."""
        found = await self._receipts.shown(view.inquiry, place)
        return None if found is None else Reference(place=place, message=found)

    async def refresh(self, reference: Reference, view: View) -> None:
        """Say the outcome or the progress of a question, in reply to it."""
        line = view.outcome or view.progress
        if line:
            await self.tell(reference, line)

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in reply to a message."""
        await self._post(reference.place, messages.said(inert(line)), quoting=reference.message)

    async def listen(self, inbox: Inbox) -> None:
        """Wait: we are called."""
        await inbox.connected()
        await asyncio.Event().wait()

    async def called(self, callback: Callback, inbox: Inbox) -> CallbackReply:
        """Take a callback of Meta, which repeats it unless the reply is a success."""
        if callback.method == "GET":
            return self._verified(callback.query)
        if not self._signed(callback):
            return CallbackReply(status=401)
        try:
            payload = cast("dict[str, Any]", read_json(callback.body))
            unclaimed = [
                receipt
                for receipt in list(receipts(payload, self._number))
                if not self._receipts.note(receipt)
            ]
            inbounds = list(done(payload, self._number))
        except (InvalidRequest, ValueError, TypeError, KeyError, AttributeError):
            log.exception("WhatsApp has sent something that cannot be read")
            return CallbackReply(status=400)
        again = [await self._became(receipt, inbox) for receipt in unclaimed]
        again += [await self._take(inbound, inbox) for inbound in inbounds]
        return CallbackReply(status=503 if any(again) else 200)

    async def account(self) -> str:
        """The number."""
        found = await self._graph.get(self._number, fields="display_phone_number")
        return str(found.get("display_phone_number", ""))

    async def check(self) -> Sequence[Finding]:
        """The number, and the address that Meta has to call."""
        try:
            found = await self._graph.get(self._number, fields="display_phone_number,verified_name")
        except (Refused, Unavailable) as problem:
            return [findings.refused("access_token", problem)]
        name = f"{found.get('verified_name', '')} {found.get('display_phone_number', '')}".strip()
        reachable = self._url.startswith("https://")
        called = Finding(
            ok=reachable,
            text=f"Meta has to call {self._url}",
            hint="" if reachable else "set public_url to an https address that Meta can reach",
        )
        return [Finding(ok=True, text=f"signed in as {name}"), called]

    async def close(self) -> None:
        """Let go of every connection."""
        await self._graph.close()

    def _verified(self, query: Mapping[str, str]) -> CallbackReply:
        """Reply to Meta's verification of the address, if it knows the verify token."""
        given = query.get("hub.verify_token", "").encode()
        if query.get("hub.mode") != "subscribe" or not hmac.compare_digest(given, self._verify_token):
            return CallbackReply(status=403)
        return CallbackReply(body=query.get("hub.challenge", "").encode())

    def _signed(self, callback: Callback) -> bool:
        given = callback.headers.get("x-hub-signature-256", "")
        wanted = "sha256=" + hmac.new(self._app_secret, callback.body, hashlib.sha256).hexdigest()
        return hmac.compare_digest(given.encode(), wanted.encode())

    async def _became(self, receipt: Receipt, inbox: Inbox) -> bool:
        """Hand over what became of a message. Returns whether WhatsApp has to say it again."""
        if receipt.code:
            return await self._lost(receipt, inbox)
        if receipt.tag is None:
            return False
        try:
            await inbox.found(receipt.tag.inquiry, receipt.tag.place, receipt.message)
        except Unavailable as problem:
            log.warning("%s", problem)
            return True
        return False

    async def _lost(self, receipt: Receipt, inbox: Inbox) -> bool:
        """Hand over that a message did not arrive. Returns whether WhatsApp has to say it again: the message may not be on record yet."""
        log.warning("a message of ours did not arrive: %s %s", receipt.code, receipt.details)
        try:
            known = await inbox.failed(receipt.message, str(failure(receipt.code, receipt.details)))
        except Unavailable as problem:
            log.warning("%s", problem)
            return True
        return not known and time.time() - receipt.at < RECORD_SECONDS

    async def _take(self, inbound: Inbound, inbox: Inbox) -> bool:
        """Hand over what a person did. Returns whether it has to come again, because it could not be kept."""
        heard = await inbox.receive(inbound)
        if heard.line and not heard.again:
            name = inbound.id.partition(":")[2]
            if inbound.odd is Odd.REACTION:
                # A reaction cannot be quoted, so the message that it belongs to is.
                name = inbound.message or ""
            to = {"place": inbound.place, "quoting": name}
            try:
                await inbox.say(Line(id=inbound.id, to=to, text=heard.line))
            except Unavailable as problem:
                log.warning("%s", problem)
                return True
        return heard.again

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say a line in reply to what a person did."""
        await self._post(to["place"], messages.said(line), quoting=to["quoting"])

    async def _asked_or_in_template(self, view: View, tag: Tag) -> str:
        try:
            return await self._asked(view, tag)
        except WindowOver:
            name, language = self._template
            if not name:
                raise
            return await self._post(tag.place, messages.tagged(messages.template(view, name, language), tag))

    async def _asked(self, view: View, tag: Tag) -> str:
        """Send a question; where its controls do not fit or are refused, as numbered text."""
        body: messages.Body = {}
        try:
            body = messages.message(view, self._words)
            return await self._sent(body, tag)
        except (messages.TooMuchToPress, FormRefused) as problem:
            if body.get("type") == "text":
                raise
            log.warning("%s is sent to WhatsApp as plain text: %s", view.ref, problem)
        return await self._sent(messages.message(plain(view, self._words), self._words), tag)

    async def _sent(self, content: messages.Body, tag: Tag) -> str:
        """Send a message, and wait for its receipt."""
        name = await self._post(tag.place, messages.tagged(content, tag))
        receipt = await self._receipts.first(name)
        if receipt is not None and receipt.code:
            raise failure(receipt.code, receipt.details)
        return name

    async def _post(self, place: str, content: Mapping[str, Any], quoting: str = "") -> str:
        if PHONE.fullmatch(place):
            to = {"recipient_type": "individual", "to": place}
        elif USER.fullmatch(place):
            to = {"recipient_type": "individual", "recipient": place}
        else:
            raise Refused(f"{place!r} is neither a number without + nor a user id such as US.1349")
        context = {"context": {"message_id": quoting}} if quoting else {}
        body = {"messaging_product": "whatsapp", **to, **context, **content}
        said = await self._graph.post(f"{self._number}/messages", body)
        sent = said.get("messages") or [{}]
        return str(sent[0].get("id", ""))
