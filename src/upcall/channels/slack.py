"""Slack through its own SDK: Socket Mode, so nothing of ours has to be reachable from outside.

What somebody did is acknowledged once it is kept, so that whoever is cut off in between hears of it: a message is sent
again, and a button says that it did not work. Slack waits for three seconds, and so do we, almost.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.socket_mode.response import SocketModeResponse
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from upcall.channel_ports import Inbox, Refused, Unavailable
from upcall.channels import slack_blocks as blocks
from upcall.channels.slack_reading import Payload, pressed, submitted, whereabouts, written
from upcall.channels.words import sentences
from upcall.domain.showing import Capabilities, Finding, Heard, Inbound, Reference, View

CALL_SECONDS = 15
ACKNOWLEDGE_SECONDS = 2.0
"""How long somebody may wait for what becomes of a press or a form; Slack gives up after three seconds."""

PASSING = {
    "fatal_error",
    "internal_error",
    "ratelimited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
}
"""What Slack says when the same request may work later."""

SCOPES = ("chat:write", "im:history", "channels:history", "groups:history")
HINTS = {
    "not_in_channel": "invite the app there: /invite @Upcall",
    "channel_not_found": "use the channel's id, such as C0123456789, and invite the app there",
    "invalid_auth": "bot_token is the one that begins with xoxb-, app_token the one with xapp-",
    "missing_scope": f"the bot's scopes are {', '.join(SCOPES)}; install the app again after a change",
    "not_allowed_token_type": "bot_token is the one that begins with xoxb-, app_token the one with xapp-",
}

log = logging.getLogger("upcall.channels.slack")
sdk_log = logging.getLogger("upcall.channels.slack.sdk")


class Slack:
    """One Slack app in one workspace."""

    capabilities: Capabilities = blocks.CAPABILITIES

    def __init__(
        self, *, bot_token: str, app_token: str, api_url: str = "", language: str = "en", ping: float = 5
    ) -> None:
        # What people write is in the SDK's own debug lines.
        sdk_log.setLevel(logging.WARNING)
        self._app_token = app_token
        self._words: Mapping[str, str] = sentences(language)
        self._ping = ping
        self._api = AsyncWebClient(
            token=bot_token,
            base_url=api_url or AsyncWebClient.BASE_URL,
            timeout=CALL_SECONDS,
            # A message that may have arrived is not sent again here: whoever called us decides.
            retry_handlers=[],
            logger=sdk_log,
        )

    async def show(self, view: View, place: str) -> Reference:
        """Post a message; a person's id as a place is a direct message."""
        sent = await self._call(
            "chat.postMessage", channel=place, unfurl_links=False, unfurl_media=False, **self._content(view)
        )
        return Reference(place=place, message=f"{sent['channel']}/{sent['ts']}")

    async def refresh(self, reference: Reference, view: View) -> None:
        """Replace a message's content."""
        channel, ts = whereabouts(reference.message)
        await self._call("chat.update", channel=channel, ts=ts, **self._content(view))

    async def tell(self, reference: Reference, line: str) -> None:
        """Say a line in a message's thread, and in the channel too."""
        channel, ts = whereabouts(reference.message)
        await self._call(
            "chat.postMessage",
            channel=channel,
            thread_ts=ts,
            reply_broadcast=True,
            text=blocks.escape(line),
            parse="none",
        )

    async def listen(self, inbox: Inbox) -> None:
        """Listen through Socket Mode; the SDK makes the connection again when Slack renews it."""
        client = SocketModeClient(
            self._app_token, logger=sdk_log, web_client=self._api, ping_interval=self._ping
        )

        async def hear(_: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
            await self._hear(client, request, inbox)

        client.socket_mode_request_listeners.append(hear)
        try:
            # Asked for here, because the client itself would ask for ever, whatever the reason.
            opened = await self._call("apps.connections.open", token=self._app_token)
            client.wss_uri = str(opened["url"])
            # The SDK does not say what these two return: nothing.
            await client.connect()  # type: ignore[no-untyped-call]
            await asyncio.Event().wait()
        finally:
            # Untyped as well.
            await client.close()  # type: ignore[no-untyped-call]

    async def check(self) -> Sequence[Finding]:
        """Who we are there, what we may do, and whether we would hear anything."""
        findings: list[Finding] = []
        try:
            found = await self._call("auth.test")
        except (Refused, Unavailable) as problem:
            return [_problem("bot_token", problem)]
        findings.append(Finding(ok=True, text=f"signed in as {found['user']} in {found['team']}"))
        granted = str(found.headers.get("x-oauth-scopes", "")).replace(" ", "").split(",")
        missing = [scope for scope in SCOPES if scope not in granted]
        if granted != [""] and missing:
            hint = HINTS["missing_scope"]
            findings.append(Finding(ok=False, text=f"missing scopes: {', '.join(missing)}", hint=hint))
        try:
            await self._call("apps.connections.open", token=self._app_token)
        except (Refused, Unavailable) as problem:
            return [*findings, _problem("app_token", problem)]
        return [*findings, Finding(ok=True, text="Socket Mode is on")]

    async def close(self) -> None:
        """Nothing is held: each call has a connection of its own, and the listener closes its own."""

    def _content(self, view: View) -> dict[str, Any]:
        return {
            "text": blocks.fallback(view),
            "blocks": blocks.message(view, self._words),
            "parse": "none",
            "link_names": False,
        }

    async def _hear(self, client: SocketModeClient, request: SocketModeRequest, inbox: Inbox) -> None:
        payload, kind = request.payload, str(request.payload.get("type", ""))
        if request.type == "interactive" and kind == "view_submission":
            reply = await self._submit(payload, inbox)
            await client.send_socket_mode_response(
                SocketModeResponse(envelope_id=request.envelope_id, payload=reply)
            )
            return
        pressing = request.type == "interactive" and kind == "block_actions"
        inbound = pressed(payload) if pressing else None
        if request.type == "events_api":
            inbound = written(payload)
        taking: asyncio.Task[Heard] | None = None
        if inbound is not None and not (pressing and _opens_form(payload)):
            taking = asyncio.create_task(inbox.receive(inbound))
            await asyncio.wait({taking}, timeout=ACKNOWLEDGE_SECONDS)
        await client.send_socket_mode_response(SocketModeResponse(envelope_id=request.envelope_id))
        try:
            if inbound is not None and taking is not None:
                await self._tell_back(inbound, await taking)
            elif inbound is not None:
                await self._open_form(payload, inbound, inbox)
        except (Refused, Unavailable) as problem:
            log.warning("somebody could not be told: %s", problem)

    async def _open_form(self, payload: Payload, inbound: Inbound, inbox: Inbox) -> None:
        view = await inbox.view(inbound.inquiry or "")
        if view is None or view.outcome is not None:
            line = self._words["no_question"] if view is None else view.outcome or ""
            await self._whisper(inbound, line)
            return
        form = blocks.form(view, inbound.message or "", self._words)
        await self._call("views.open", trigger_id=str(payload["trigger_id"]), view=form)

    async def _submit(self, payload: Payload, inbox: Inbox) -> dict[str, Any] | None:
        """What a form's sender is shown: nothing if it counts, or what is wrong with it."""
        try:
            async with asyncio.timeout(ACKNOWLEDGE_SECONDS):
                heard = await inbox.receive(submitted(payload))
        except TimeoutError:
            heard = Heard(line=self._words["unavailable"], accepted=False)
        if heard.accepted:
            return None
        first = next(block["block_id"] for block in payload["view"]["blocks"] if block["type"] == "input")
        return {"response_action": "errors", "errors": {first: heard.line}}

    async def _tell_back(self, inbound: Inbound, heard: Heard) -> None:
        if heard.line and inbound.words and inbound.message is None:
            text = blocks.escape(heard.line)
            await self._call("chat.postMessage", channel=inbound.place, text=text, parse="none")
        else:
            await self._whisper(inbound, heard.line)

    async def _whisper(self, inbound: Inbound, line: str) -> None:
        """Say something that only one person sees, beside the message that it is about."""
        if not line:
            return
        more = {}
        if inbound.message is not None and inbound.words:
            more["thread_ts"] = whereabouts(inbound.message)[1]
        await self._call(
            "chat.postEphemeral",
            channel=inbound.place,
            user=inbound.user,
            text=blocks.escape(line),
            parse="none",
            **more,
        )

    async def _call(self, method: str, token: str | None = None, **arguments: Any) -> AsyncSlackResponse:
        headers = None if token is None else {"Authorization": f"Bearer {token}"}
        try:
            return await self._api.api_call(method, json=arguments, headers=headers)
        except SlackApiError as error:
            raise _failure(error) from error
        except (aiohttp.ClientError, SlackClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"Slack cannot be reached: {type(error).__name__}") from error


def _opens_form(payload: Payload) -> bool:
    return str(payload["actions"][0]["action_id"]).startswith(f"{blocks.FORM}:")


def _failure(error: SlackApiError) -> Refused | Unavailable:
    response = error.response
    said = str(response.get("error") or "") if isinstance(response.data, dict) else ""
    if response.status_code == 429 or said == "ratelimited":
        return Unavailable("Slack is busy", after=float(response.headers.get("Retry-After", 1)))
    if response.status_code >= 500 or said in PASSING or not said:
        return Unavailable(f"Slack cannot do it now: {said or response.status_code}")
    needed = f" ({response.get('needed')})" if said == "missing_scope" else ""
    hint = f": {HINTS[said]}" if said in HINTS else ""
    return Refused(f"Slack says {said}{needed}{hint}")


def _problem(setting: str, problem: Exception) -> Finding:
    said, _, hint = str(problem).partition(": ")
    return Finding(ok=False, text=f"{setting}: {said}", hint=hint)
