"""Runs over HTTP: begin, list, read, cancel, retry, say, read the log, attach. People only: an agent sees its own."""

from collections.abc import Mapping
from typing import cast

from starlette.responses import Response

from upcall.access.tokens import Access
from upcall.broker.broker import Broker
from upcall.domain.errors import InvalidRequest, UnknownRun
from upcall.domain.roles import Caller, require_admin
from upcall.domain.run.program import Permission
from upcall.domain.run.run import Order, Run, RunState
from upcall.domain.text.forms import kind_of
from upcall.http.bearer import token_of
from upcall.http.body import Json
from upcall.ports.runs import LONGEST_KEY, RunPage, Runs
from upcall.web import fields
from upcall.web.api.run_documents import RunDocuments, command_document, log_document
from upcall.web.api.stream import Presence
from upcall.web.call import Body, Call

PAGE, LARGEST_PAGE = 50, 200
LONGEST_POLL = 300.0
FURTHEST = 2**62
# Words travel as one argument of a process, which Linux limits to 128 KiB.
TASK_LENGTH, SAID_LENGTH, PATH_LENGTH = 30_000, 30_000, 4096
MOST_ARGUMENTS = 200
EXAMPLE = '{"agent": "claude", "task": "fix the flaky test", "cwd": "/home/ana/shop"}'


class RunHandlers:
    """The handlers of everything under `/v1/runs`."""

    def __init__(self, runs: Runs, broker: Broker, access: Access) -> None:
        self._runs = runs
        self._broker = broker
        self._access = access
        self._documents = RunDocuments(broker)

    async def begin(self, call: Call) -> Response:
        """Start an agent on a task."""
        order = _order(await call.body())
        _check_rights(order, call.caller)
        run, created = await self._runs.begin(order, call.caller)
        return await self._documents.one(run, 201 if created else 200)

    async def list(self, call: Call) -> Response:
        """List runs, the newest first; an agent's token lists the run that it belongs to."""
        sent = call.query()
        state = fields.choice(RunState, sent["state"], "state").value if sent.get("state") else None
        limit = fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
        if call.caller.is_agent:
            return await self._documents.page(await self._own(call.caller, state))
        page = await self._runs.find(state=state, cursor=sent.get("cursor") or None, limit=limit)
        return await self._documents.page(page)

    async def get(self, call: Call) -> Response:
        """Read a run; an agent only its own."""
        number = _number(call)
        if call.caller.is_agent and call.caller.run != number:
            raise UnknownRun(number)
        return await self._documents.one(await self._runs.get(number))

    async def cancel(self, call: Call) -> Response:
        """End a run, its processes included."""
        return await self._documents.one(await self._runs.cancel(_number(call), call.caller))

    async def retry(self, call: Call) -> Response:
        """Try again: the same run where an answer was not delivered, otherwise a new one."""
        return await self._documents.one(await self._runs.retry(_number(call), call.caller))

    async def say(self, call: Call) -> Response:
        """Tell the agent something, live or by resuming its session."""
        number = _number(call)
        text = fields.required_text(
            await call.body(), "text", most=SAID_LENGTH, example='{"text": "use the new API"}'
        )
        if not text.strip():
            raise InvalidRequest("text: nothing but white space", hint="say something")
        heard = await self._runs.say(number, _plain(text, "text"), call.caller)
        return Json({"delivery": heard, "run": number})

    async def log(self, call: Call) -> Response:
        """Read what a run's program wrote; with `wait`, not before there is something to tell."""
        number = _number(call)
        sent = call.query()
        after = fields.integer(sent, "after", default=0, least=0, most=FURTHEST)
        wait = fields.bounded_seconds(sent, "wait", default=0, most=LONGEST_POLL)
        raw = fields.integer(sent, "raw", default=0, least=0, most=1) == 1
        async with Presence(call.receive, self._broker.closing) as presence:
            page = await presence.during(self._runs.log(number, after, wait, raw=raw))
        # Minutes later the token may not be good any more.
        self._access.identify(token_of(call.scope))
        if page is None:
            return Json({"lines": [], "next_after": after, "over": False})
        return Json(log_document(page))

    async def attach(self, call: Call) -> Response:
        """What to start in a terminal to take the session over."""
        return Json(command_document(await self._runs.attach(_number(call))))

    async def _own(self, caller: Caller, state: str | None) -> RunPage:
        own: Run | None = None if caller.run is None else await self._runs.get(caller.run)
        shown = own is not None and state in {None, own.state.value}
        return RunPage(items=(own,) if own is not None and shown else (), next=None)


def _number(call: Call) -> int:
    written = call.params["number"]
    if not (written.isascii() and written.isdigit() and len(written) < 16):
        raise UnknownRun(repr(written[:40]))
    return int(written)


def _order(body: Body) -> Order:
    return Order(
        agent=_plain(fields.required_text(body, "agent", example=EXAMPLE), "agent"),
        task=_task(body),
        cwd=_folder(body),
        permission=_permission(body),
        arguments=_arguments(body.get("arguments")),
        environment=_environment(body.get("environment")),
        request_key=_request_key(body),
    )


def _request_key(body: Body) -> str:
    key = fields.text(body, "request_key") or ""
    if len(key) > LONGEST_KEY:
        raise InvalidRequest(f"request_key: at most {LONGEST_KEY} characters, got {len(key)}")
    return key


def _check_rights(order: Order, caller: Caller) -> None:
    """Who starts a run chooses the task and the folder; what is run, and how freely, is for admins."""
    if order.environment is not None:
        require_admin(caller, "choose a run's environment, which decides what programs are run")
    if order.arguments:
        require_admin(caller, "pass on arguments to an agent's program, which can switch its questions off")
    if order.permission is Permission.AUTONOMOUS:
        require_admin(caller, "start an agent that acts without asking")


def _task(body: Body) -> str:
    task = fields.required_text(body, "task", most=TASK_LENGTH, example=EXAMPLE)
    if not task.strip():
        raise InvalidRequest("task: nothing but white space", hint=f"for example {EXAMPLE}")
    return _plain(task, "task")


def _folder(body: Body) -> str:
    folder = _plain(fields.required_text(body, "cwd", most=PATH_LENGTH, example=EXAMPLE), "cwd")
    if not folder.startswith("/"):
        raise InvalidRequest(
            f"cwd: an absolute path on the daemon's machine, got {folder[:80]!r}",
            hint=f"for example {EXAMPLE}",
        )
    return folder


def _permission(body: Body) -> Permission | None:
    sent = fields.text(body, "permission")
    return None if sent is None else fields.choice(Permission, sent, "permission")


def _arguments(sent: object) -> tuple[str, ...]:
    if sent is None:
        return ()
    words = fields.strings(sent, "arguments", example='{"arguments": ["--model", "opus"]}')
    if len(words) > MOST_ARGUMENTS:
        raise InvalidRequest(f"arguments: at most {MOST_ARGUMENTS}, got {len(words)}")
    return tuple(_plain(word, f"arguments[{number}]") for number, word in enumerate(words))


def _environment(sent: object) -> Mapping[str, str] | None:
    if sent is None:
        return None
    example = 'for example {"environment": {"PATH": "/usr/bin"}}'
    if not isinstance(sent, dict):
        raise InvalidRequest(f"environment: an object, got {kind_of(sent)}", hint=example)
    for name, value in cast("dict[str, object]", sent).items():
        if not name or "=" in name:
            raise InvalidRequest(f"environment: {name[:40]!r} cannot be a variable's name", hint=example)
        if not isinstance(value, str):
            raise InvalidRequest(f"environment.{name[:40]}: text, got {kind_of(value)}", hint=example)
        _plain(name + value, f"environment.{name[:40]}")
    return cast("dict[str, str]", sent)


def _plain(text: str, name: str) -> str:
    """Text that can be handed to a process."""
    if "\0" in text:
        raise InvalidRequest(f"{name}: has a character that no process can be given", hint="leave out NUL")
    return text
