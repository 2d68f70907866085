"""Slack through its own SDK: Socket Mode, so nothing of ours has to be reachable from outside, or signed HTTP.

A press or a message is acknowledged once it is kept: Slack delivers again what was not acknowledged, or says that a button
did not work. It waits for three seconds. In Socket Mode the channel waits for two, and then acknowledges in any case.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from upcall.channels import findings
from upcall.channels.naming import conversation_and_id, message_name
from upcall.channels.slack import blocks
from upcall.channels.slack.app import scope_findings
from upcall.channels.slack.errors import HINTS, failure
from upcall.channels.slack.files import fetched
from upcall.channels.slack.reading import (
    Payload,
    called_with,
    is_signed,
    pressed,
    submitted,
    written,
)
from upcall.channels.words import sentences
from upcall.domain.channel.showing import (
    Capabilities,
    Finding,
    Heard,
    Inbound,
    Odd,
    Reference,
    SentFile,
    View,
)
from upcall.domain.errors import StorageError
from upcall.ports.channel import (
    Callback,
    CallbackReply,
    FormRefused,
    Inbox,
    Line,
    Refused,
    SignedOut,
    Unavailable,
)

CALL_SECONDS = 15
ACKNOWLEDGE_SECONDS = 2.0
"""How long a press or a form may take to be kept; Slack gives up after three seconds."""

ABOUT = "upcall_inquiry"
"""The type of the metadata that says which inquiry a message shows."""

LISTED = ("C", "D", "G")
LOOKED_AT = 100
LOST_SECONDS = 60.0
"""How long the SDK may be without a connection before the listener starts again, and reports the reason."""

log = logging.getLogger("upcall.channels.slack")
sdk_log = logging.getLogger("upcall.channels.slack.sdk")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taken:
    """What follows a press or a message: `tell` runs after the acknowledgement; `again` asks Slack to repeat the delivery."""

    tell: Callable[[], Awaitable[None]] | None = None
    again: bool = False


class Slack:
    """One Slack app in one workspace; without `app_token` it is called, and knows Slack by the `signing_secret`."""

    capabilities: Capabilities = blocks.CAPABILITIES

    def __init__(
        self,
        *,
        bot_token: str,
        app_token: str = "",
        signing_secret: str = "",
        api_url: str = "",
        language: str = "en",
        ping: float = 5,
    ) -> None:
        # The SDK's debug lines hold people's messages.
        sdk_log.setLevel(logging.WARNING)
        self._bot_token = bot_token
        self._api_url = api_url
        self._app_token = app_token
        self._signing_secret = signing_secret
        self._telling: set[asyncio.Task[None]] = set()
        self._words: Mapping[str, str] = sentences(language)
        self._ping = ping
        self._api = AsyncWebClient(
            token=bot_token,
            base_url=api_url or AsyncWebClient.BASE_URL,
            timeout=CALL_SECONDS,
            # A message that may have arrived is not sent again here: the dispatcher decides.
            retry_handlers=[],
            logger=sdk_log,
        )

    async def show(self, view: View, place: str) -> Reference:
        """Post a message; a person's id as a place is a direct message."""
        sent = await self._write(
            view,
            "chat.postMessage",
            channel=place,
            unfurl_links=False,
            unfurl_media=False,
            metadata={"event_type": ABOUT, "event_payload": {"inquiry": view.inquiry}},
        )
        return Reference(place=place, message=message_name(sent["channel"], sent["ts"]))

    async def find(self, view: View, place: str) -> Reference | None:
        """Look for a message about an inquiry among the latest of a channel or a direct message."""
        try:
            conversation = await self._conversation(place)
            found = await self._call(
                "conversations.history", channel=conversation, include_all_metadata=True, limit=LOOKED_AT
            )
        except Refused as problem:
            log.warning("Slack does not let us look whether %s is shown already: %s", view.ref, problem)
            return None
        for message in found["messages"] or ():
            about = message.get("metadata") or {}
            if about.get("event_type") == ABOUT and about["event_payload"].get("inquiry") == view.inquiry:
                return Reference(place=place, message=message_name(conversation, message["ts"]))
        return None

    async def _conversation(self, place: str) -> str:
        """The id of the conversation in a place; that of a person is opened, as sending a message there does."""
        if place.startswith(LISTED):
            return place
        try:
            opened = await self._call("conversations.open", users=place)
        except SignedOut as problem:
            # The app may have been set up without this scope; whether the token itself is taken, the next call says.
            raise Refused(str(problem)) from problem
        conversation: Mapping[str, Any] = opened.get("channel") or {}
        return str(conversation["id"])

    async def refresh(self, reference: Reference, view: View) -> None:
        """Replace a message's content."""
        channel, ts = conversation_and_id(reference.message)
        await self._write(view, "chat.update", channel=channel, ts=ts)

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in a message's thread, and in the channel too."""
        channel, ts = conversation_and_id(reference.message)
        await self._call(
            "chat.postMessage",
            channel=channel,
            thread_ts=ts,
            reply_broadcast=True,
            text=blocks.escape(line),
            parse="none",
        )

    async def listen(self, inbox: Inbox) -> None:
        """Listen through Socket Mode, or wait to be called; the SDK connects again when Slack renews a connection."""
        if not self._app_token:
            await inbox.connected()
            await asyncio.Event().wait()
        client = SocketModeClient(
            self._app_token, logger=sdk_log, web_client=self._api, ping_interval=self._ping
        )

        async def hear(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            await self._hear(client, request, inbox)

        async def greet(_: AsyncBaseSocketModeClient, message: Payload, __: str | None) -> None:
            # Slack greets on every connection, those included that the SDK has renewed by itself.
            if message.get("type") == "hello":
                await inbox.connected()

        client.socket_mode_request_listeners.append(hear)
        client.message_listeners.append(greet)
        try:
            # Asked for here, because the client itself would go on asking, even after a refusal.
            opened = await self._call("apps.connections.open", token=self._app_token)
            client.wss_uri = str(opened["url"])
            # The SDK does not say what these two return: nothing.
            await client.connect()  # type: ignore[no-untyped-call]
            await _until_lost(client)
        finally:
            # Untyped, as above.
            await client.close()  # type: ignore[no-untyped-call]

    async def account(self) -> str:
        """The app's name and its workspace."""
        found = await self._call("auth.test")
        return f"@{found['user']} in the workspace {found['team']}"

    async def check(self) -> Sequence[Finding]:
        """The app's name and scopes, and whether Slack delivers what people do."""
        try:
            found = await self._call("auth.test")
        except (Refused, Unavailable) as problem:
            return [findings.refused("bot_token", problem)]
        report = [Finding(ok=True, text=f"signed in as {found['user']} in {found['team']}")]
        granted = str(found.headers.get("x-oauth-scopes", "")).replace(" ", "").split(",")
        report += [] if granted == [""] else scope_findings(granted, HINTS["missing_scope"])
        if not self._app_token:
            return [*report, Finding(ok=True, text="Slack calls us, and is known by its signature")]
        try:
            await self._call("apps.connections.open", token=self._app_token)
        except (Refused, Unavailable) as problem:
            return [*report, findings.refused("app_token", problem)]
        return [*report, Finding(ok=True, text="Socket Mode is on")]

    async def close(self) -> None:
        """Wait for the lines that are still being said; no connection is held."""
        await asyncio.gather(*self._telling, return_exceptions=True)

    async def fetch(self, file: SentFile, most: int) -> bytes:
        """Download a file that a person sent."""
        return await fetched(
            file.at, most, token=self._bot_token, api_url=self._api_url, seconds=CALL_SECONDS
        )

    async def called(self, callback: Callback, inbox: Inbox) -> CallbackReply:
        """Take what Slack delivers over HTTP."""
        if not self._signing_secret:
            return CallbackReply(status=404, body=b"this app is set up for Socket Mode")
        if not is_signed(callback, self._signing_secret, time.time()):
            return CallbackReply(status=401, body=b"the signature is wrong, or too old")
        payload = called_with(callback)
        match payload.get("type"):
            case "url_verification":
                return CallbackReply(body=str(payload.get("challenge", "")).encode())
            case "view_submission":
                wrong = await self._submit(payload, inbox)
                body = b"" if wrong is None else json.dumps(wrong).encode()
                return CallbackReply(body=body, media_type="application/json")
            case "block_actions" | "event_callback":
                taken = await self._take(payload, inbox)
                self._tell_soon(taken)
                return CallbackReply(status=503 if taken.again else 200)
            case _:
                return CallbackReply()

    async def _write(self, view: View, method: str, **where: Any) -> AsyncSlackResponse:
        """Send or edit a message: as blocks or, where Slack refuses these, as numbered text."""
        plainly: dict[str, Any] = {"parse": "none", "link_names": False}
        content: dict[str, Any] = {"text": blocks.fallback(view), "blocks": blocks.message(view, self._words)}
        try:
            return await self._call(method, **where, **plainly, **content)
        except FormRefused as problem:
            log.warning("%s is sent to Slack as plain text: %s", view.ref, problem)
        content = {"text": blocks.numbered(view, self._words), "blocks": []}
        return await self._call(method, **where, **plainly, **content)

    async def _hear(self, client: SocketModeClient, request: SocketModeRequest, inbox: Inbox) -> None:
        payload, kind = request.payload, str(request.payload.get("type", ""))
        if request.type == "interactive" and kind == "view_submission":
            reply = await self._submit(payload, inbox)
            await client.send_socket_mode_response(
                SocketModeResponse(envelope_id=request.envelope_id, payload=reply)
            )
            return
        taking: asyncio.Task[_Taken] | None = None
        if kind == "block_actions" or request.type == "events_api":
            taking = asyncio.create_task(self._take(payload, inbox))
            await asyncio.wait({taking}, timeout=ACKNOWLEDGE_SECONDS)
        # What was not kept is not acknowledged: Slack delivers it again, perhaps to another daemon.
        if taking is None or not taking.done() or not taking.result().again:
            await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        taken = _Taken() if taking is None else await taking
        if taken.tell is not None:
            await self._tell(taken.tell)

    def _tell_soon(self, taken: _Taken) -> None:
        """Run `tell` after the reply to Slack, which is expected at once."""
        if taken.tell is not None:
            task = asyncio.create_task(self._tell(taken.tell))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell(self, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            await tell()
        except (Refused, Unavailable) as problem:
            log.warning("a person could not be told: %s", problem)

    async def _take(self, payload: Payload, inbox: Inbox) -> _Taken:
        """Hand over a press or a message."""
        press = payload.get("type") == "block_actions"
        inbound = pressed(payload) if press else written(payload)
        if inbound is None:
            return _Taken()
        if press and str(payload["actions"][0]["action_id"]).startswith(f"{blocks.FORM}:"):
            return _Taken(tell=partial(self._open_form, payload, inbound, inbox))
        heard = await inbox.receive(inbound)
        if heard.line and not heard.again:
            await self._whisper(inbound, heard.line, inbox, alone=not press and inbound.message is None)
        return _Taken(again=heard.again)

    async def _open_form(self, payload: Payload, inbound: Inbound, inbox: Inbox) -> None:
        try:
            view = await inbox.view(inbound.inquiry or "")
        except StorageError:
            log.exception("a form could not be made")
            await self._whisper(inbound, self._words["unavailable"], inbox)
            return
        if view is None or view.outcome is not None:
            line = self._words["no_question"] if view is None else view.outcome or ""
            await self._whisper(inbound, line, inbox)
            return
        form = blocks.form(view, inbound.message or "", self._words)
        try:
            await self._call("views.open", trigger_id=str(payload["trigger_id"]), view=form)
        except (Refused, Unavailable) as problem:
            log.warning("the form of %s could not be opened: %s", view.ref, problem)
            await self._whisper(inbound, self._words["form_failed"].format(link=view.page), inbox)

    async def _submit(self, payload: Payload, inbox: Inbox) -> dict[str, Any] | None:
        """The reply to a form: None if it counts, otherwise the error to show in it."""
        try:
            async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
                heard = await inbox.receive(submitted(payload))
        except TimeoutError:
            heard = Heard(line=self._words["unavailable"], accepted=False)
        if heard.accepted:
            return None
        first = next(block["block_id"] for block in payload["view"]["blocks"] if block["type"] == "input")
        return {"response_action": "errors", "errors": {first: heard.line}}

    async def _whisper(self, inbound: Inbound, line: str, inbox: Inbox, *, alone: bool = False) -> None:
        """Have a line said to one person: as an ephemeral message or, with `alone`, as a direct message."""
        message = inbound.message or ""
        thread = message if inbound.words or inbound.odd is Odd.MESSAGE else ""
        to = {"channel": inbound.place, "message": message, "thread": thread}
        if not alone:
            to["user"] = inbound.user
        if line:
            await inbox.say(Line(id=inbound.id, to=to, text=line))

    async def say(self, to: Mapping[str, str], line: str) -> None:
        """Say something to a person."""
        said: dict[str, Any] = {"channel": to["channel"], "text": blocks.escape(line), "parse": "none"}
        if "user" not in to:
            await self._call("chat.postMessage", **said)
            return
        more = {"thread_ts": conversation_and_id(to["thread"])[1]} if to["thread"] else {}
        try:
            await self._call("chat.postEphemeral", user=to["user"], **said, **more)
        except Refused:
            if not to["message"]:
                raise
            # Where an ephemeral message is refused, the line is said in the thread.
            await self._call("chat.postMessage", thread_ts=conversation_and_id(to["message"])[1], **said)

    async def _call(self, method: str, token: str | None = None, **arguments: Any) -> AsyncSlackResponse:
        headers = None if token is None else {"Authorization": f"Bearer {token}"}
        try:
            return await self._api.api_call(method, json=arguments, headers=headers)
        except SlackApiError as error:
            raise _failure(error) from error
        except (aiohttp.ClientError, SlackClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"Slack cannot be reached: {type(error).__name__}") from error


def _failure(error: SlackApiError) -> Refused | Unavailable:
    response = error.response
    said = str(response.get("error") or "") if isinstance(response.data, dict) else ""
    needed = str(response.get("needed") or "") if said == "missing_scope" else ""
    return failure(said, response.status_code, response.headers.get("Retry-After", ""), needed)


async def _until_lost(client: SocketModeClient) -> None:
    """Wait for as long as the SDK holds a connection, or is only about to renew it.

    Raises:
        Unavailable: if it could not for a while. The SDK would try for ever without a report.
    """
    time = asyncio.get_running_loop().time
    held = time()
    while time() - held < LOST_SECONDS:
        await asyncio.sleep(LOST_SECONDS / 12)
        if await client.is_connected():
            held = time()
    raise Unavailable("the connection to Slack is lost")
