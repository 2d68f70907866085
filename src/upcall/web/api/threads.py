"""Threads over HTTP: begin, list, read along, post, take up the next turn, resolve and reject."""

import json
from collections.abc import Mapping
from typing import Any, cast

from starlette.responses import Response

from upcall.access.tokens import Access
from upcall.broker.broker import Broker, Reply, Settled
from upcall.broker.threads import VIA, Permissions, Threads, Words
from upcall.domain.document import Document
from upcall.domain.errors import InvalidRequest
from upcall.domain.text.forms import kind_of
from upcall.domain.thread.prompts import Document as Metadata
from upcall.domain.thread.thread import POSTED_BY_AGENTS, ItemType
from upcall.http.bearer import token_of
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.api.documents import Documents
from upcall.web.api.stream import LATEST, Presence
from upcall.web.api.thread_documents import ThreadDocuments
from upcall.web.call import Body, Call

PAGE, LARGEST_PAGE = 50, 200
LONGEST_POLL = 300.0
METADATA_BYTES = 16 * 1024
EXAMPLE = '{"text": "use the new API"}'
PERMISSIONS = ("approval", "autonomous")


class ThreadHandlers:
    """The handlers of everything under `/v1/threads`."""

    def __init__(self, broker: Broker, access: Access, threads: Threads, documents: Documents) -> None:
        self._broker = broker
        self._access = access
        self._threads = threads
        self._inquiries = documents
        self._documents = ThreadDocuments(broker, threads)

    async def begin(self, call: Call) -> Response:
        """Begin a thread: an agent its own, a person one of any agent."""
        body = await call.body()
        known, created = await self._threads.begin(
            call.caller,
            name=fields.text(body, "id") or "",
            agent=fields.text(body, "agent") or "",
            session=fields.text(body, "session") or "",
            title=fields.text(body, "title") or "",
            permissions=_permissions(body),
        )
        return Json(await self._documents.thread(known), 201 if created else 200)

    async def list(self, call: Call) -> Response:
        """List threads, the newest first; an agent its own."""
        sent = call.query()
        limit = fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
        found, following = await self._threads.page(call.caller, sent.get("cursor") or None, limit)
        return Json({"items": [await self._documents.thread(each) for each in found], "next": following})

    async def get(self, call: Call) -> Response:
        """Read a thread."""
        return Json(await self._documents.thread(await self._threads.get(call.name, call.caller)))

    async def choose(self, call: Call) -> Response:
        """Set what the agent may do in it without asking."""
        body = await call.body()
        if "permissions" not in body:
            hint = 'for example {"permissions": "autonomous"}, or null for the agent\'s own'
            raise InvalidRequest("permissions: missing", hint=hint)
        known = await self._threads.choose(call.name, call.caller, _permissions(body))
        return Json(await self._documents.thread(known))

    async def items(self, call: Call) -> Response:
        """Read a thread's items in order; with `wait`, not before there is something to tell."""
        sent = call.query()
        after = fields.integer(sent, "after", default=0, least=0, most=LATEST)
        wait = fields.bounded_seconds(sent, "wait", default=0, most=LONGEST_POLL)
        limit = fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
        await self._threads.get(call.name, call.caller)
        found = await self._threads.items(call.name, after=after, limit=limit)
        if not found and wait:
            async with Presence(call.receive, self._broker.closing) as presence:
                work = self._threads.items(call.name, after=after, limit=limit, wait=wait)
                found = await presence.during(work) or ()
            self._access.identify(token_of(call.scope))
        known = await self._threads.get(call.name, call.caller)
        shown = await self._documents.items(found, known)
        return Json({"items": shown, "next_after": found[-1].seq if found else after})

    async def post(self, call: Call) -> Response:
        """Post: an agent what it does; a person a message, which answers the open question or waits for the next turn."""
        body = await call.body()
        words = _agents_words(body) if call.caller.is_agent else _persons_words(body)
        posted = await self._threads.post(call.name, call.caller, words)
        known = await self._threads.get(call.name, call.caller)
        item = None if posted.item is None else await self._documents.item(posted.item, known)
        told: Document = {
            "accepted": posted.item is not None,
            "answered": posted.answered or None,
            "item": item,
        }
        return Json(told, 200 if item is None else 201)

    async def turn(self, call: Call) -> Response:
        """Begin the next turn with the messages that were left for it (the agent itself)."""
        sent = call.query()
        after = fields.integer(sent, "after", default=0, least=0, most=LATEST)
        wait = fields.bounded_seconds(sent, "wait", default=0, most=LONGEST_POLL)
        async with Presence(call.receive, self._broker.closing) as presence:
            work = self._threads.turn(call.name, call.caller, after=after, wait=wait)
            found = await presence.during(work) or ()
        known = await self._threads.get(call.name, call.caller)
        shown = await self._documents.items(found, known)
        return Json({"items": shown, "next_after": found[-1].seq if found else known.taken})

    async def resolve(self, call: Call) -> Response:
        """Answer the open prompt that comes first; any other is left alone."""
        body = await call.body()
        prompt = _named(body)
        given = _answers(body.get("answers"))
        text = fields.text(body, "text", most=self._broker.policy.limits.answer)
        if (text is None) == (given is None):
            raise InvalidRequest("one of text and answers", hint='for example {"text": "1"}')
        reply = Reply(text=text, answers=given, via=fields.via(body), key=fields.text(body, "key"))
        return await self._settled(await self._threads.resolve(call.name, call.caller, prompt, reply))

    async def reject(self, call: Call) -> Response:
        """Decline to answer the open prompt that comes first; any other is left alone."""
        body = await call.body()
        prompt = _named(body)
        reason = fields.text(body, "reason", most=self._broker.policy.limits.reason)
        key = fields.text(body, "key")
        return await self._settled(
            await self._threads.reject(call.name, call.caller, prompt, reason=reason, key=key)
        )

    async def _settled(self, settled: Settled | None) -> Response:
        if settled is None:
            return Json({"accepted": False, "inquiry": None, "told": None})
        return await self._inquiries.settled(settled)


def _named(body: Body) -> str:
    """The prompt that is meant, by its own id or by that of the tool call that asked it."""
    call = fields.text(body, "tool_call_id")
    return call or fields.required_text(body, "prompt_id", example='{"prompt_id": "prm_…", "text": "1"}')


def _permissions(body: Body) -> Permissions:
    sent = fields.text(body, "permissions")
    if sent is None:
        return ""
    if sent not in PERMISSIONS:
        raise InvalidRequest(f"permissions: one of {', '.join(PERMISSIONS)}, got {sent[:40]!r}")
    return cast("Permissions", sent)


def _agents_words(body: Body) -> Words:
    metadata = _metadata(body)
    kind = metadata.pop("type", ItemType.TEXT)
    if kind not in POSTED_BY_AGENTS:
        kinds = ", ".join(POSTED_BY_AGENTS)
        raise InvalidRequest(
            f"metadata.type: one of {kinds}, got {str(kind)[:40]!r}",
            hint="prompts are posted by asking: POST /v1/inquiries with this thread",
        )
    text = _text(body)
    if not text and kind in {ItemType.TEXT, ItemType.STATUS}:
        raise InvalidRequest("text: missing", hint=f"for example {EXAMPLE}")
    return Words(type=str(kind), text=text, metadata=metadata, prompt=_prompt_of(metadata))


def _persons_words(body: Body) -> Words:
    metadata = _metadata(body)
    if metadata.pop("type", ItemType.TEXT) != ItemType.TEXT:
        raise InvalidRequest("metadata.type: a person posts text", hint=f"for example {EXAMPLE}")
    prompt = metadata.get("prompt")
    answers = _answers(cast("Body", prompt).get("answers")) if isinstance(prompt, dict) else None
    text = _text(body)
    if not text.strip() and answers is None:
        raise InvalidRequest("text: missing", hint=f"for example {EXAMPLE}")
    return Words(
        text=text,
        metadata=metadata,
        prompt=_prompt_of(metadata),
        answers=answers,
        key=fields.text(body, "key") or "",
        via=fields.via(body) if "via" in body else VIA,
    )


def _text(body: Body) -> str:
    """The words of an item: `text`, or the text of its `content`."""
    given = body.get("text")
    content = body.get("content")
    if given is not None and content is not None:
        raise InvalidRequest("only one of text and content", hint=f"for example {EXAMPLE}")
    if content is None:
        if given is not None and not isinstance(given, str):
            raise InvalidRequest(f"text: text, got {kind_of(given)}", hint=f"for example {EXAMPLE}")
        return given or ""
    example = 'for example {"content": [{"type": "text", "text": "…"}]}'
    if not isinstance(content, list):
        raise InvalidRequest(f"content: a list, got {kind_of(content)}", hint=example)
    return "\n".join(_part(part, number, example) for number, part in enumerate(content))


def _part(part: Any, number: int, example: str) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise InvalidRequest(f"content[{number}]: a part of type text", hint=example)
    return str(part["text"])


def _metadata(body: Body) -> Metadata:
    sent = body.get("metadata")
    if sent is None:
        return {}
    if not isinstance(sent, dict):
        example = 'for example {"metadata": {"type": "tool_call"}}'
        raise InvalidRequest(f"metadata: an object, got {kind_of(sent)}", hint=example)
    size = len(json.dumps(sent, ensure_ascii=False).encode("utf-8", "replace"))
    if size > METADATA_BYTES:
        raise InvalidRequest(f"metadata: at most {METADATA_BYTES} bytes, got {size}")
    return dict(cast("Mapping[str, object]", sent))


def _prompt_of(metadata: Metadata) -> str:
    prompt = metadata.get("prompt")
    found = cast("Body", prompt).get("prompt_id") if isinstance(prompt, dict) else None
    return found if isinstance(found, str) else ""


def _answers(sent: object) -> "list[list[str]] | None":
    """Answers as they stand: a list for each question, or objects that hold one as `answer`."""
    if sent is None:
        return None
    example = 'for example {"answers": [{"question": "…", "answer": ["staging"]}]}'
    if not isinstance(sent, list):
        raise InvalidRequest(f"answers: a list, got {kind_of(sent)}", hint=example)
    taken: list[list[str]] = []
    for number, each in enumerate(cast("list[object]", sent)):
        values = cast("Body", each).get("answer") if isinstance(each, dict) else each
        taken.append(list(fields.strings(values, f"answers[{number}]", example=example)))
    return taken
