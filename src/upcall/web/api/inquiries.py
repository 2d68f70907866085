"""Inquiries over HTTP: ask, list, read, answer, reject, cancel, snooze, extend, collect."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from urllib.parse import quote

from starlette.responses import Response

from upcall.broker.broker import Broker, Settled
from upcall.broker.threads import Threads
from upcall.domain.approval.actions import action_in, approval
from upcall.domain.errors import InvalidRequest, UnknownAgent, UnknownRun, UpcallError
from upcall.domain.inquiry.activity import LONGEST_BRANCH
from upcall.domain.inquiry.asking import Draft, draft
from upcall.domain.inquiry.inquiry import Answered, Attachment, Inquiry, Kind, Origin
from upcall.domain.inquiry.limits import weight
from upcall.domain.inquiry.refs import ID_LENGTH
from upcall.domain.roles import Caller, Role, require_person
from upcall.http.errors import NotFound
from upcall.ports.store import Added, Query
from upcall.ports.unhurried import LIGHT, unhurried
from upcall.web import fields
from upcall.web.api.answer_forms import hold_in, reply_in
from upcall.web.api.documents import Documents
from upcall.web.call import Body, Call

PAGE, LARGEST_PAGE = 50, 200
LONGEST_SEARCH = 500
PURPOSES = ("question", "permission")
# Anything else could run, or be taken for a page, in the browser of the person who opens it.
_SHOWN_AS = re.compile(r"image/(png|jpeg|gif|webp)")
_TEXT = re.compile(r"text/[a-z0-9.+-]+|application/json")


class InquiryHandlers:
    """The handlers of everything under `/v1/inquiries` that answers at once."""

    def __init__(self, broker: Broker, documents: Documents, threads: Threads, *, undo: float) -> None:
        self._broker = broker
        self._documents = documents
        self._threads = threads
        self._undo = undo

    async def ask(self, call: Call) -> Response:
        """Ask a question."""
        body = await call.body()
        added = await self.put(body, origin_in(body, call.caller), call.caller)
        return await self._documents.one(added.inquiry, 201 if added.created else 200)

    async def put(self, body: Body, origin: Origin, caller: Caller) -> Added:
        """Put what a request asks; its thread is told if that is refused."""
        try:
            return await self._ask(body, origin, caller)
        except UpcallError as error:
            if origin.thread is not None:
                await self._threads.refused(origin, error)
            raise

    async def list(self, call: Call) -> Response:
        """List inquiries: open ones oldest first, others newest first."""
        sent = call.query()
        agent = sent.get("agent") or None
        if agent is not None and call.caller.is_agent and agent != call.caller.name:
            raise UnknownAgent(agent)
        run = _run(sent)
        if call.caller.run is not None and run not in {None, call.caller.run}:
            raise UnknownRun(run)
        query = Query(
            state=sent.get("state") or None,
            agent=agent,
            workspace=sent.get("workspace") or None,
            run=run,
            kind=fields.choice(Kind, sent["kind"], "kind") if sent.get("kind") else None,
            text=_words(sent.get("q", "")),
            limit=fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE),
            cursor=sent.get("cursor") or None,
        )
        page = await self._broker.find(query, call.caller)
        return await self._documents.page(page)

    async def get(self, call: Call) -> Response:
        """Read an inquiry."""
        return await self._documents.one(await self._broker.get(call.name, call.caller))

    async def attachment(self, call: Call) -> Response:
        """Download an attachment."""
        # Never as a page of ours: a browser that opened it would run it with the rights of the inbox.
        inquiry = await self._broker.get(call.name, call.caller)
        index = _place(inquiry, call.params["number"], inquiry.attachments, "attachment")
        content = await self._broker.store.attachment(inquiry.id, index)
        return _download(inquiry.attachments[index], content)

    async def answer_file(self, call: Call) -> Response:
        """Download a file of the answer."""
        inquiry = await self._broker.get(call.name, call.caller)
        files = inquiry.state.answer.files if isinstance(inquiry.state, Answered) else ()
        index = _place(inquiry, call.params["number"], files, "file in its answer")
        return _download(files[index], await self._broker.files.content(inquiry, index))

    async def answer(self, call: Call) -> Response:
        """Answer."""
        # What an agent sends is not read: with files, it may be much.
        require_person(call.caller, "answer")
        body = await call.body()
        awaited = await self._is_awaited(call)
        reply = await unhurried(weight(body, LIGHT), lambda: reply_in(body, self._undo))
        settled = await self._broker.receive(call.name, reply, call.caller)
        return await self._documents.settled(settled, awaited=awaited)

    async def reject(self, call: Call) -> Response:
        """Decline to answer."""
        body = await call.body()
        awaited = await self._is_awaited(call)
        reject = partial(self._broker.reject, hold=hold_in(body, self._undo))
        return await self._end(call, body, reject, awaited=awaited)

    async def _is_awaited(self, call: Call) -> bool:
        """Whether a call waits for it here. It is read only to find the id of a ref: on PostgreSQL that is a round trip before every wake."""
        if call.caller.is_person and len(call.name) == ID_LENGTH:
            return self._broker.is_awaited(call.name)
        return self._broker.is_awaited((await self._broker.get(call.name, call.caller)).id)

    async def undo(self, call: Call) -> Response:
        """Take back a decision that is held: the question is open again."""
        return await self._documents.settled(await self._broker.undo(call.name, call.caller))

    async def cancel(self, call: Call) -> Response:
        """Withdraw a question: the asker its own, an admin any."""
        return await self._end(call, await call.body(), self._broker.cancel)

    async def snooze(self, call: Call) -> Response:
        """Keep quiet about it for a while."""
        span = self._span(await call.body())
        return await self._documents.settled(await self._broker.snooze(call.name, call.caller, span))

    async def extend(self, call: Call) -> Response:
        """Give it more time."""
        span = self._span(await call.body())
        return await self._documents.settled(await self._broker.extend(call.name, call.caller, span))

    async def collect(self, call: Call) -> Response:
        """Acknowledge that the asker has its answer."""
        return await self._documents.settled(
            await self._broker.collect(call.name, call.caller, "acknowledged")
        )

    async def _ask(self, body: Body, origin: Origin, caller: Caller) -> Added:
        if body.get("ttl") is not None:
            fields.seconds(body["ttl"], "ttl")
        limits = self._broker.policy.limits
        make = partial(_approval, body) if "action" in body else partial(draft, body, limits)
        drafted = await unhurried(weight(body, LIGHT), make)
        if origin.thread is not None:
            await self._threads.go_on(origin.thread, caller)
        return await self._broker.ask(drafted, origin, named_session=body.get("session") is not None)

    async def _end(
        self, call: Call, body: Body, end: Callable[..., Awaitable[Settled]], *, awaited: bool | None = None
    ) -> Response:
        settled = await end(
            call.name,
            call.caller,
            reason=fields.text(body, "reason", most=self._broker.policy.limits.reason),
            via=fields.via(body),
            key=fields.text(body, "key"),
        )
        return await self._documents.settled(settled, awaited=awaited)

    def _span(self, body: Body) -> float:
        for name in ("for", "seconds"):
            if body.get(name) is not None:
                return fields.seconds(body[name], name)
        if body.get("until") is not None:
            return fields.seconds(fields.moment(body["until"], "until") - self._broker.now(), "until")
        raise InvalidRequest(
            "for: missing", hint='for example {"for": "1h"} or {"until": "2030-01-31T09:00:00Z"}'
        )


def origin_in(body: Body, caller: Caller) -> Origin:
    """Where a request comes from.

    Raises:
        UnknownAgent: if it names another agent.
        InvalidRequest: if a field of it is none.
    """
    named = fields.text(body, "agent") or fields.text(body, "agent_id")
    if named is not None and named != caller.name and caller.role is not Role.ADMIN:
        raise UnknownAgent(named)
    session = fields.text(body, "session")
    agent = named or caller.name
    purpose = fields.text(body, "purpose") or PURPOSES[0]
    if purpose not in PURPOSES:
        raise InvalidRequest(f"purpose: one of {', '.join(PURPOSES)}, got {purpose!r}")
    return Origin(
        agent=agent,
        session=session or agent,
        door="http",
        run=caller.run,
        runner=caller.runner,
        workspace=fields.text(body, "workspace", most=1000),
        branch=fields.text(body, "branch", most=LONGEST_BRANCH) or "",
        thread=fields.text(body, "thread"),
        purpose=purpose,
        request_key=fields.text(body, "request_key"),
    )


def _approval(body: Body) -> Draft:
    """The approval of an action; everything that is shown of it is made from the action itself."""
    more = sorted(body.keys() & {"question", "questions", "options", "context", "attachments", "default"})
    if more or body.get("kind") not in (None, "approval"):
        named = ", ".join(more) or "kind"
        raise InvalidRequest(f"{named}: not beside an action, which is shown as it is")
    drafted = approval(action_in(body["action"]))
    return drafted if body.get("ttl") is None else replace(drafted, ttl=fields.seconds(body["ttl"], "ttl"))


def _run(sent: Mapping[str, str]) -> int | None:
    return fields.integer(sent, "run", default=0, least=1, most=2**53) if sent.get("run") else None


def _words(sent: str) -> str:
    if len(sent) > LONGEST_SEARCH:
        raise InvalidRequest(f"q: at most {LONGEST_SEARCH} characters, got {len(sent)}", hint="?q=redis")
    return sent


def _place(inquiry: Inquiry, number: str, files: Sequence[Attachment], what: str) -> int:
    """Which of these files is meant.

    Raises:
        NotFound: if it is none of them.
    """
    if number.isascii() and number.isdigit() and len(number) < 4 and int(number) < len(files):
        return int(number)
    raise NotFound(
        f"inquiry {inquiry.ref!r} has no {what} {number[:40]!r}", hint=f"it has {len(files)}, counted from 0"
    )


def _download(file: Attachment, content: bytes) -> Response:
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name, safe='')}",
        "Content-Security-Policy": "default-src 'none'; sandbox",
    }
    return Response(content, headers=headers, media_type=_served_as(file.media_type))


def _served_as(media_type: str) -> str:
    wanted = media_type.lower().partition(";")[0].strip()
    if _SHOWN_AS.fullmatch(wanted):
        return wanted
    return "text/plain" if _TEXT.fullmatch(wanted) else "application/octet-stream"
