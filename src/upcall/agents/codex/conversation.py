"""One conversation with Codex's app server: into the thread, a turn begun or found, and its end awaited."""

import asyncio
from collections.abc import Callable
from typing import Any

from upcall import __version__
from upcall.agents.codex.events import AppReader
from upcall.agents.codex.items import Json, fields_in, list_in, text_in
from upcall.agents.codex.link import CallRefused, Link, LinkLost
from upcall.agents.codex.requests import Reply, Requests, call_in
from upcall.agents.prompt import advice_of, with_advice
from upcall.domain.run.program import SESSION_GONE, Finished, Noticed, Session, SessionSeen, Task
from upcall.ports.agent import Desk

Notice = Callable[[Noticed], None]


class Conversation:
    """What is said over one connection.

    A message to the model is sent under a name, the mark, so that a later connection finds out that it was. Without a
    message the thread's last turn is followed, even if another connection began it.
    """

    def __init__(self, link: Link, reader: AppReader, desk: Desk, notice: Notice) -> None:
        self._link = link
        self._reader = reader
        self._desk = desk
        self._notice = notice
        self._thread = ""
        self._turn = ""
        self._working: dict[Any, asyncio.Task[None]] = {}
        self._replies: dict[Any, Reply] = {}

    async def follow(self, told: Task | Session, message: str | None, mark: str) -> None:
        """Do the work, or what is left of it.

        Raises:
            LinkLost: perhaps in a group, if the connection is gone before the end of the turn.
        """
        try:
            turn = await self._enter(told, message, mark)
        except CallRefused as problem:
            reason = SESSION_GONE if isinstance(told, Session) else "not_started"
            self._notice(Finished(ok=False, text=str(problem), reason=reason))
            return
        self._turn = text_in(turn.get("id"))
        for noticed in self._reader.missed(turn):
            self._notice(noticed)
        if turn.get("status") != "inProgress":
            self._notice(self._reader.finished(turn))
            return
        requests = Requests(self._desk, self._reader.changes, told.cwd)
        async with asyncio.TaskGroup() as group:
            while not self._is_the_end(heard := await self._link.next()):
                if "id" in heard:
                    self._working[heard["id"]] = group.create_task(self._serve(requests, heard))
            for task in self._working.values():
                task.cancel()

    async def say(self, text: str) -> bool:
        """Tell the model something during its turn."""
        try:
            return bool(self._turn) and await self._steer(self._thread, self._turn, text)
        except LinkLost:
            return False

    async def _enter(self, told: Task | Session, message: str | None, mark: str) -> Json:
        """Greet the server, get into the thread, and find or begin the turn."""
        capabilities = {"experimentalApi": True}
        client = {"name": "upcall", "title": "Upcall", "version": __version__}
        await self._link.call("initialize", {"clientInfo": client, "capabilities": capabilities})
        await self._link.tell("initialized")
        loaded = [
            text_in(each) for each in list_in((await self._link.call("thread/loaded/list", {})).get("data"))
        ]
        # Its helpers have threads too, and later ones: the ids are made of the time.
        known = told.id if isinstance(told, Session) else min(loaded, default="")
        settings = {"cwd": told.cwd, "approvalPolicy": "on-request", "approvalsReviewer": "user"}
        if known:
            self._reader.follow(known, resumed=True)
            settings |= {"threadId": known}
            await self._link.call("thread/resume", {**settings, "excludeTurns": True})
            self._thread = known
        else:
            begun = await self._link.call("thread/start", settings)
            self._thread = text_in(fields_in(begun.get("thread")).get("id"))
            self._reader.follow(self._thread, resumed=False)
        self._notice(SessionSeen(id=self._thread))
        last = await self._last_turn() if known else {}
        words = with_advice(told.prompt, advice_of(told.door)) if isinstance(told, Task) else message
        if words is None or (known in loaded and _is_of(last, mark)):
            return last
        answer = await self._link.call(
            "turn/start",
            {
                "threadId": self._thread,
                "input": [{"type": "text", "text": words}],
                "clientUserMessageId": mark,
            },
        )
        return fields_in(answer.get("turn"))

    async def _last_turn(self) -> Json:
        page = {"threadId": self._thread, "limit": 1, "sortDirection": "desc", "itemsView": "full"}
        turns = list_in((await self._link.call("thread/turns/list", page)).get("data"))
        return fields_in(turns[0]) if turns else {}

    def _is_the_end(self, heard: Json) -> bool:
        """Notice what a notification tells; whether it was the last one."""
        method, params = text_in(heard.get("method")), fields_in(heard.get("params"))
        if "id" in heard:
            return False
        if method == "serverRequest/resolved":
            self._resolved(params.get("requestId"))
        elif method == "turn/completed" and fields_in(params.get("turn")).get("id") == self._turn:
            self._notice(self._reader.finished(fields_in(params.get("turn"))))
            return True
        for noticed in self._reader.notice(method, params):
            self._notice(noticed)
        return False

    async def _serve(self, requests: Requests, request: Json) -> None:
        if call := call_in(request):
            for noticed in self._reader.begin(call):
                self._notice(noticed)
        reply = await requests.answer(request)
        words = reply.remark
        if reply.advice:
            words = f"About what you asked permission for and did not get: {reply.advice}"
        if words:
            params = fields_in(request.get("params"))
            # Said before the reply, it is among what the model reads next.
            await self._steer(text_in(params.get("threadId")), text_in(params.get("turnId")), words)
        self._replies[request["id"]] = reply
        if reply.result is None:
            await self._link.refuse(request["id"], reply.problem)
        else:
            await self._link.reply(request["id"], reply.result)

    def _resolved(self, number: Any) -> None:
        """The server needs no more answer: it has ours, or the request has become void."""
        reply, task = self._replies.pop(number, None), self._working.pop(number, None)
        if reply is None and task is not None:
            task.cancel()
        if reply is not None and reply.evidence is not None:
            for noticed in self._reader.end(reply.evidence):
                self._notice(noticed)

    async def _steer(self, thread: str, turn: str, text: str) -> bool:
        words = {"threadId": thread, "expectedTurnId": turn, "input": [{"type": "text", "text": text}]}
        try:
            await self._link.call("turn/steer", words)
        except CallRefused:
            return False  # its turn is over
        return True


def _is_of(turn: Json, mark: str) -> bool:
    items = [fields_in(item) for item in list_in(turn.get("items"))]
    return any(item.get("clientId") == mark for item in items)
