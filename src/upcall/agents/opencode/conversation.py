"""The work of one session on opencode's server: what it asks is put to people, and what it does is noticed."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from upcall.agents.opencode.actions import shown_input
from upcall.agents.opencode.api import Api, RequestRefused, ServerLost, objects
from upcall.agents.opencode.parts import Json, Parts, failure, mapping, text, words
from upcall.agents.opencode.plans import YES, submitted_plan
from upcall.agents.opencode.rules import tightened
from upcall.agents.prompt import advice_of
from upcall.domain.run.program import (
    SESSION_GONE,
    Action,
    Finished,
    Noticed,
    Said,
    Session,
    SessionSeen,
    Spent,
    Task,
    TurnTaken,
)
from upcall.ports.agent import Desk

RECONNECT_SECONDS = 0.5
INPUT_SECONDS = 20.0
"""How long a call may be asked about before its input is told."""
UNFINISHED = ("length", "content-filter", "error", "tool-calls")
"""Ends of a last step after which there was more to do."""
MARK = "upcall"


class Conversation:
    """One session. It can be joined at any time: what is pending is listed, and asked under its own id."""

    def __init__(
        self,
        api: Api,
        told: Task | Session,
        message: str | None,
        prompt: Mapping[str, str],
        desk: Desk,
        notice: Callable[[Noticed], None],
    ) -> None:
        self._api = api
        self._told = told
        self._message = told.prompt if isinstance(told, Task) else message
        self._prompt = prompt
        self._desk = desk
        self._notice = notice
        self._session = ""
        self._parts = Parts()
        self._calls: dict[str, Json] = {}
        self._news = asyncio.Condition()
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._error: object = None

    async def work(self) -> None:
        """Do what was told; returns when the session has nothing more to do."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                end = await self._follow()
                for task in self._pending.values():
                    task.cancel()
        except* RequestRefused as problems:
            end = Finished(ok=False, text=str(problems.exceptions[0]), reason="protocol_error")
        self._notice(end)

    async def say(self, words: str) -> bool:
        """Tell the session something more.

        Raises:
            ServerLost: if there is no reply.
        """
        if not self._session:
            return False
        await self._tell(self._session, words)
        return True

    async def _follow(self) -> Finished:
        while True:
            try:
                async with self._api.events() as events:
                    if end := await self._join():
                        return end
                    async for event in events:
                        if end := await self._hear(event):
                            return end
            except ServerLost:
                # The end of the process is noticed by the reader of its output, and this task is cancelled.
                await asyncio.sleep(RECONNECT_SECONDS)

    async def _join(self) -> Finished | None:
        """Begin, or find out what has happened while no connection was open."""
        known = bool(self._session)
        if not known:
            try:
                self._session = await self._find() or await self._create()
            except RequestRefused as problem:
                if problem.status not in (400, 404):
                    raise
                return Finished(ok=False, text=f"there is no session {self._told_id!r}", reason=SESSION_GONE)
            self._notice(SessionSeen(id=self._session))
        messages = objects(await self._api.get(f"/session/{self._session}/message"))
        said, self._message = self._message, None
        if said is not None and not (isinstance(self._told, Task) and messages):
            for part in _parts(messages):
                self._parts.skip(part)
            await self._tell(self._session, said)
            return None
        for part in _parts(messages):
            await self._see(part, counted=known)
        for question in objects(await self._api.get("/question")):
            self._open(question, self._answer)
        for permission in objects(await self._api.get("/permission")):
            self._open(permission, self._decide)
        return await self._over()

    @property
    def _told_id(self) -> str:
        return self._told.id if isinstance(self._told, Session) else ""

    async def _find(self) -> str:
        """The session to go on with; a task has one already if an earlier daemon began it."""
        if isinstance(self._told, Session):
            found = mapping(await self._api.get(f"/session/{quote(self._told.id, safe='')}"))
            return text(found.get("id"))
        sessions = objects(await self._api.get("/session"))
        marked = [each for each in sessions if mapping(each.get("metadata")).get(MARK) == self._told.session]
        return text(marked[0].get("id")) if marked else ""

    async def _create(self) -> str:
        assert isinstance(self._told, Task)
        agents = objects(await self._api.get("/agent"))
        default = text(mapping(await self._api.get("/config")).get("default_agent")) or "build"
        wanted = self._prompt.get("agent", default)
        agent = next((each for each in agents if each.get("name") == wanted), None)
        if agent is None:
            raise RequestRefused(400, f"there is no agent {wanted!r}")
        made = await self._api.post(
            "/session",
            {
                "metadata": {MARK: self._told.session},
                "permission": tightened(objects(agent.get("permission"))),
            },
        )
        return text(mapping(made).get("id"))

    async def _tell(self, session: str, words: str) -> None:
        body: dict[str, object] = {
            "system": advice_of(self._told.door),
            "parts": [{"type": "text", "text": words}],
        }
        if session == self._session:
            body |= {name: value for name, value in self._prompt.items() if name != "model"}
            provider, slash, model = self._prompt.get("model", "").partition("/")
            if slash:
                body["model"] = {"providerID": provider, "modelID": model}
        await self._api.post(f"/session/{session}/prompt_async", body)

    async def _hear(self, event: Json) -> Finished | None:
        about = mapping(event.get("properties"))
        ours = about.get("sessionID") == self._session
        match event.get("type"):
            case "message.part.updated":
                await self._see(mapping(about.get("part")), counted=True)
            case "question.asked":
                self._open(about, self._answer)
            case "permission.asked":
                self._open(about, self._decide)
            case "question.replied" | "question.rejected" | "permission.replied":
                # Decided elsewhere, or together with another one that was denied.
                if task := self._pending.pop(text(about.get("requestID")), None):
                    task.cancel()
            case "session.error" if ours:
                self._error = about.get("error")
                return await self._over()
            case "session.idle" if ours:
                return await self._over()
            case _:
                pass
        return None

    async def _see(self, part: Json, *, counted: bool) -> None:
        """Notice a part. What happened before we came is no turn of ours to count, and still evidence."""
        if part.get("type") == "tool":
            async with self._news:
                self._calls[text(part.get("callID"))] = mapping(part.get("state"))
                self._news.notify_all()
        for noticed in self._parts.notice(part):
            if isinstance(noticed, Said) and part.get("sessionID") != self._session:
                continue  # a subagent's words are for its agent
            if counted or not isinstance(noticed, TurnTaken | Spent):
                self._notice(noticed)

    def _open(self, request: Json, settle: Callable[[Json], Coroutine[Any, Any, None]]) -> None:
        name = text(request.get("id"))
        if name and name not in self._pending:
            self._pending[name] = self._group.create_task(self._settle(name, settle(request)))

    async def _settle(self, name: str, settling: Coroutine[Any, Any, None]) -> None:
        try:
            await settling
        except ServerLost:
            # Listed as pending when we are connected again, if it still is.
            self._pending.pop(name, None)
        except RequestRefused as problem:
            if problem.status != 404:
                raise
            # Not open any more, which is an event of its own.

    async def _answer(self, question: Json) -> None:
        name = text(question.get("id"))
        if plan := await submitted_plan(self._api, question):
            await self._put_plan(name, plan, text(question.get("sessionID")))
            return
        outcome = await self._desk.ask(
            {"questions": question.get("questions")}, name, wait=self._told.door.wait
        )
        if (given := outcome.worded) is not None:
            await self._reply(f"/question/{name}/reply", {"answers": [list(each) for each in given]})
            return
        # Declining has no place for words, so they are said before it, and read right after it.
        await self._tell(text(question.get("sessionID")), outcome.text)
        await self._reply(f"/question/{name}/reject", None)

    async def _put_plan(self, name: str, plan: str, session: str) -> None:
        """Have the plan of the plan agent decided: a yes lets the build agent go on with it."""
        verdict = await self._desk.put_plan(plan, name, edits=False, wait=self._told.door.wait)
        if verdict.allowed:
            await self._reply(f"/question/{name}/reply", {"answers": [[YES]]})
            return
        # As below: a no has no place for the comments.
        await self._tell(session, verdict.reason)
        await self._reply(f"/question/{name}/reject", None)

    async def _decide(self, permission: Json) -> None:
        name = text(permission.get("id"))
        given = await self._given(text(mapping(permission.get("tool")).get("callID")))
        if given is None:
            await self._deny(name, "What it would do could not be read, so it could not be approved.")
            return
        tool, shown = text(permission.get("permission")), shown_input(permission, given)
        action = Action(tool=tool, input=shown, cwd=self._told.cwd, hears="with_yes")
        verdict = await self._desk.approve(action, name, wait=self._told.door.wait)
        if verdict.allowed:
            if verdict.remark:
                # A yes has no place for words, so they are said before it, and read when the tool has run.
                await self._tell(text(permission.get("sessionID")), verdict.remark)
            await self._reply(f"/permission/{name}/reply", {"reply": "once"})
        else:
            await self._deny(name, verdict.reason or "The user denied this.")

    async def _deny(self, name: str, reason: str) -> None:
        await self._reply(f"/permission/{name}/reply", {"reply": "reject", "message": reason})

    async def _reply(self, path: str, body: Mapping[str, object] | None) -> None:
        # A reply is an event too, and must not be cut short by it.
        await asyncio.shield(self._api.post(path, body))

    async def _given(self, call: str) -> Json | None:
        """A call's own input to the last byte, which may be told just after it was asked about."""
        if not call:
            return {}

        def known() -> bool:
            return self._calls.get(call, {}).get("status") in ("running", "completed", "error")

        try:
            async with asyncio.timeout(INPUT_SECONDS), self._news:
                await self._news.wait_for(known)
        except TimeoutError:
            return None
        return mapping(self._calls[call].get("input"))

    async def _over(self) -> Finished | None:
        """How it ended, if it has; a session at work is listed as busy."""
        if mapping(await self._api.get("/session/status")).get(self._session):
            return None
        messages = objects(await self._api.get(f"/session/{self._session}/message"))
        replies = [each for each in messages if mapping(each.get("info")).get("role") == "assistant"]
        last = replies[-1] if replies and replies[-1] is messages[-1] else {}
        info = mapping(last.get("info"))
        ending = text(info.get("finish"))
        # That something went wrong is told before it is written down.
        if error := info.get("error") or (None if ending else self._error):
            message, reason = failure(error)
            return Finished(ok=False, text=message, reason=reason)
        if not last:
            return Finished(ok=False, text="the model was not asked", reason="no_reply")
        said = "\n\n".join(filter(None, map(words, objects(last.get("parts")))))
        ok = bool(ending) and ending not in UNFINISHED
        return Finished(ok=ok, text=said, reason="" if ok else ending or "interrupted")


def _parts(messages: Sequence[Json]) -> list[Json]:
    return [part for message in messages for part in objects(message.get("parts"))]
