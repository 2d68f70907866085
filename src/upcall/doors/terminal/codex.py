"""`upcall hook away codex`: the dialogs of a Codex in a terminal, answered beside it over the socket of its background server.

Codex shows a dialog only when its hook has ended. So the hook ends at once, and leaves a process behind that joins the session at the
server, as the terminal has: what the server asks one of them is asked both, and the first reply counts.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from upcall import __version__
from upcall.agents.codex.items import Json, fields_in, list_in, text_in
from upcall.agents.codex.link import CallRefused, Link, LinkLost, connected
from upcall.agents.codex.requests import command_in, key_in
from upcall.doors.terminal.dialogs import FINISHED
from upcall.doors.terminal.programs import CODEX, LEAVING
from upcall.doors.terminal.screen import Screen
from upcall.doors.terminal.waiting import AnsweredError, EndedError, Hook
from upcall.home.files import Home

COMMAND, PATCH, TOOL, QUESTION = (
    "item/commandExecution/requestApproval",
    "item/fileChange/requestApproval",
    "mcpServer/elicitation/request",
    "item/tool/requestUserInput",
)
APPEARING = 20.0
"""Seconds within which the server asks what a hook has told of."""


def wait_beside(home: Home, event: Json, screen: Screen, socket: str) -> None:
    """Wait for a person and for the terminal, and give the server the decision if the person was first."""
    asyncio.run(_wait_beside(home, event, screen, socket))


async def _wait_beside(home: Home, event: Json, screen: Screen, socket: str) -> None:
    with suppress(LinkLost, CallRefused, TimeoutError):  # without the server, the terminal is gone as well
        async with connected(socket) as link:
            beside = Beside(link, event)
            await beside.join()
            listening = asyncio.create_task(beside.listen())
            try:
                told = {**event, "request": beside.request} if beside.request else event
                hook = Hook(home, told, screen, program=CODEX, check=beside.check, lives_on=True)
                await _give(hook, beside)
            finally:
                listening.cancel()


async def _give(hook: Hook, beside: "Beside") -> None:
    """Wait for what people decide, give it to the server, and tell the daemon whether the server has taken it."""
    reply = await asyncio.to_thread(hook.run)
    try:
        taken = await beside.is_delivered(reply)
    except DecidedError:
        await asyncio.to_thread(hook.settle)
    except (LinkLost, CallRefused):
        await asyncio.to_thread(hook.confirm, taken=False)
    else:
        await asyncio.to_thread(hook.confirm, taken=taken)


class DecidedError(Exception):
    """The terminal has decided before the answer of a person could be given to the server."""


class Beside:
    """A session at the server, next to its terminal, for the time of one dialog or until the next turn."""

    def __init__(self, link: Link, event: Json) -> None:
        self.request: Json = {}
        self._link = link
        self._event = event
        # A subagent works in a thread of its own, and the server asks only those who have joined that one.
        self._thread = text_in(event.get("agent_id")) or text_in(event.get("session_id"))
        self._is_over = False
        self._is_lost = False
        self._ended = asyncio.Event()

    async def join(self) -> None:
        """Join the session, and find what the server asks.

        Raises:
            TimeoutError: if it asks nothing of what the hook has told.
        """
        client = {"name": "upcall", "title": "Upcall", "version": __version__}
        capabilities = {"experimentalApi": True}
        await self._link.call("initialize", {"clientInfo": client, "capabilities": capabilities})
        await self._link.tell("initialized")
        await self._link.call("thread/resume", {"threadId": self._thread, "excludeTurns": True})
        if self._event.get("hook_event_name") == FINISHED:
            return
        async with asyncio.timeout(APPEARING):
            while not self.request:
                heard = await self._link.next()
                if "id" in heard and _is_about(heard, self._event):
                    self.request = heard

    async def listen(self) -> None:
        """Notice when the dialog is over."""
        try:
            await self._until_over()
        except LinkLost:
            self._is_lost = True
        self._ended.set()

    async def _until_over(self) -> None:
        while not self._is_over:
            heard = await self._link.next()
            params = fields_in(heard.get("params"))
            if params.get("threadId") != self._thread:
                continue
            match heard.get("method"):
                case "serverRequest/resolved" if self.request:
                    self._is_over = params.get("requestId") == self.request["id"]
                case "turn/started" | "thread/closed":
                    self._is_over = True
                case _:
                    pass

    def check(self) -> None:
        """Raise once there is nothing to wait for; called from another thread."""
        if self._is_over:
            raise AnsweredError
        if self._is_lost:
            raise EndedError

    async def is_delivered(self, reply: Mapping[str, object]) -> bool:
        """Give the server what a person has decided or said, and see whether it has taken that.

        Raises:
            DecidedError: if the terminal was first.
        """
        if said := text_in(reply.get("said")):
            await self._link.call("turn/start", {"threadId": self._thread, "input": _input(said)})
        decision = fields_in(reply.get("decision"))
        if not decision:
            return bool(said)
        if self._is_over:
            raise DecidedError
        params = fields_in(self.request.get("params"))
        words = decision.get("remark")
        if not decision.get("allowed") and self.request["method"] != QUESTION:
            words = f"About what you asked permission for and did not get: {decision.get('reason')}"
        if words:
            turn = {"threadId": params.get("threadId"), "expectedTurnId": params.get("turnId")}
            with suppress(CallRefused):  # its turn is over
                # Said before the reply, it is among what the model reads next.
                await self._link.call("turn/steer", {**turn, "input": _input(str(words))})
        await self._link.reply(self.request["id"], _result(self.request, decision))
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVING):
                await self._ended.wait()
        return not self._is_lost


def _is_about(request: Json, event: Json) -> bool:
    """Whether the server asks here what the hook was started for."""
    params, tool = fields_in(request.get("params")), text_in(event.get("tool_name"))
    match request.get("method"):
        case method if method == QUESTION:
            return key_in(params) == event.get("tool_use_id")
        case method if method == COMMAND:
            given = fields_in(event.get("tool_input")).get("command")
            return command_in(params).input["command"] == given
        case method if method == PATCH:
            return tool == "apply_patch"
        case method if method == TOOL:
            about = fields_in(params.get("_meta"))
            # Of two calls at once, each is decided by what it was shown with.
            same = fields_in(about.get("tool_params")) == fields_in(event.get("tool_input"))
            return tool.startswith("mcp__") and "codex_approval_kind" in about and same
        case _:
            return False


def _result(request: Json, decision: Json) -> Mapping[str, object]:
    allowed = decision.get("allowed")
    match request.get("method"):
        case method if method == QUESTION:
            asked = list_in(fields_in(request.get("params")).get("questions"))
            names = [text_in(fields_in(each).get("id")) for each in asked]
            # Without an answer, the model reads in place of one what to make of that.
            given = list_in(decision.get("answers")) or [[decision.get("reason")] for _ in names]
            return {
                "answers": {name: {"answers": values} for name, values in zip(names, given, strict=False)}
            }
        case method if method == TOOL:
            return {"action": "accept", "content": {}} if allowed else {"action": "decline"}
        case _:
            return {"decision": "accept" if allowed else "decline"}


def _input(text: str) -> list[Mapping[str, str]]:
    return [{"type": "text", "text": text}]
