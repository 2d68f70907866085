"""What clients say about themselves in a request's `_meta`: which session it is, which call, how long it waits."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.wording import duration

REQUEST_KEY = "upcall/requestKey"
SESSION = "upcall/session"
THREAD = "upcall/thread"
CODEX_TURN = "x-codex-turn-metadata"
CALL_KEYS = ("claudecode/toolUseId", "callId", REQUEST_KEY)
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
TASKS = "io.modelcontextprotocol/tasks"
TAKES_TASKS_AWAY = ("claude-code",)
"""Clients that declare tasks, and hand one to the background, away from the model that asked."""
UNNAMED_SDK = "mcp"
"""What a client is called that leaves its name to the Python SDK, as the OpenAI Agents SDK does. It asks for no progress either, unlike
fastmcp and Pydantic AI, which go by the same name."""

LONGEST = 200
"""Characters of a name; a longer one is ignored."""

_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

Meta = Mapping[str, object]


def meta_of(params: object) -> Meta:
    """The `_meta` of a request's parameters, empty if there is none of the right form."""
    if isinstance(params, Mapping):
        found = cast("Mapping[str, object]", params).get("_meta")
        if isinstance(found, Mapping):
            return cast("Meta", found)
    return {}


def session_of(meta: Meta) -> str | None:
    """The session that the client names: Codex tells its thread, which is what it can be resumed by.

    A helper of Codex's has a thread of its own, which is not resumed: its question belongs to the session that it helps.
    """
    turn = meta.get(CODEX_TURN)
    if isinstance(turn, Mapping):
        codex = cast("Meta", turn)
        own, whole = _name(codex.get("thread_id")), _name(codex.get("session_id"))
        parent = _name(codex.get("parent_thread_id"))
        return (whole or parent or own) if parent else (own or whole)
    return _name(meta.get(SESSION))


def thread_of(meta: Meta) -> str | None:
    """The thread that a call belongs to, where the client keeps one."""
    return _name(meta.get(THREAD))


def program_of(meta: Meta) -> str:
    """The program that names its session in this way; empty where several do."""
    return "codex" if isinstance(meta.get(CODEX_TURN), Mapping) else ""


def request_key_of(meta: Meta) -> str | None:
    """What recognises this very call if it is sent again: the client's own id for it, else the pipe's."""
    return next((key for name in CALL_KEYS if (key := _name(meta.get(name)))), None)


def progress_token_of(meta: Meta) -> str | int | None:
    """The token under which the client wants to hear signs of life."""
    token = meta.get("progressToken")
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None


def declares_tasks(meta: Meta) -> bool:
    """Whether a request says that it takes a task in place of a result."""
    declared: object = meta.get(CAPABILITIES)
    for name in ("extensions", TASKS):
        declared = cast("Meta", declared).get(name) if isinstance(declared, Mapping) else None
    return isinstance(declared, Mapping)


def wants_tasks(meta: Meta) -> bool:
    """Whether a call becomes a task: its request declares that, and its client leaves the task to its model."""
    return declares_tasks(meta) and client_in(meta.get(CLIENT_INFO)) not in TAKES_TASKS_AWAY


def name_in(info: object) -> str:
    """What a client calls itself, as it says it."""
    name = cast("Meta", info).get("name") if isinstance(info, Mapping) else None
    return name if isinstance(name, str) else ""


def client_in(info: object) -> str:
    """What a client calls itself, in letters that can be shown anywhere; empty if it does not, or not in such."""
    name = cast("Mapping[str, object]", info).get("name") if isinstance(info, Mapping) else info
    if not isinstance(name, str) or _CLIENT.fullmatch(name) is None:
        return ""
    # A program goes by the same name in thousands of sessions.
    return shared(name.removesuffix("-mcp-client"))


def is_hurried(client: str, meta: Meta) -> bool:
    """Whether a call may come from a client that gives up within seconds."""
    return client == UNNAMED_SDK and progress_token_of(meta) is None


def wait_of(said: object) -> float | None:
    """How long a client says it can wait: `block` is for ever, None is unknown."""
    match said:
        case "block":
            return math.inf
        case bool() | None:
            return None
        case int() | float() | str():
            try:
                seconds = duration(said)
            except (UpcallError, ValueError, OverflowError):
                return None
            return seconds if seconds > 0 else None
        case _:
            return None


@lru_cache(maxsize=4096)
def shared(text: str) -> str:
    """One object for equal texts that many clients send. On some Pythons interned texts are never freed."""
    return text


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST else None
