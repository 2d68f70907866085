"""What a pipe tells its agent before it has met the daemon: the replies to `initialize` and `tools/list`.

Programs leave out the tools of a server that is slow at this point. The daemon keeps its own replies in the home, together
with what they depend on; where it never ran and nothing is set, those of a daemon without settings are true.
"""

import json
import os

from upcall import __version__
from upcall.home.files import Home

DEFAULT = os.path.join(os.path.dirname(__file__), "first_replies.json")  # noqa: PTH118, PTH120 - the cheapest way
"""The replies of a daemon without settings; a test holds them equal to it."""

VERSION = "VERSION"
"""Stands in that file where the version belongs."""

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
Message = dict[str, object]


class FirstReplies:
    """Knows the replies only for as long as the agent begins with the handshake, as it is meant to."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._known: Message | None = None
        self._is_over = False
        self._shook_hands = False

    def to(self, message: Message) -> Message | None:
        """The result of a request; None where the daemon has to say it."""
        params = message.get("params", {})
        if self._is_over or not isinstance(params, dict):
            self._is_over = True
            return None
        reply: Message | None = None
        match message["method"]:
            case "initialize" if not self._shook_hands and _is_well_formed(params):
                reply = self._result("initialize")
                self._shook_hands = reply is not None
                if reply is not None:
                    reply = {"protocolVersion": _version(params), **reply}
            case "tools/list" if self._shook_hands and not params.keys() - {"_meta"} and _is_plain(params):
                reply = self._result("tools/list")
            case _:
                pass
        self._is_over = reply is None and not self._shook_hands
        return reply

    def _result(self, method: str) -> Message | None:
        if self._known is None:
            self._known = known_replies(self._home)
        result = self._known.get(method)
        return result if isinstance(result, dict) else None


def known_replies(home: Home) -> Message:
    """The replies by their method; empty if only the daemon can know them."""
    if os.environ.get("UPCALL_TOKEN"):
        # A run has a tool more than others, and only the daemon knows which tokens are those of runs.
        return {}
    basis = home.reply_basis()
    try:
        told = json.loads(home.replies_file.read_text("utf-8"))
    except (OSError, ValueError):
        told = None
    if isinstance(told, dict) and told.get("basis") == basis and isinstance(told.get("replies"), dict):
        replies: Message = told["replies"]
        return replies
    return default_replies() if basis == [__version__, None, []] else {}


def default_replies() -> Message:
    """The replies of a daemon without settings."""
    with open(DEFAULT, encoding="utf-8") as file:  # noqa: PTH123 - see `DEFAULT`
        replies: Message = json.loads(file.read().replace(VERSION, __version__))
    return replies


def _is_well_formed(params: Message) -> bool:
    """Whether the daemon would accept this handshake; what it would refuse is for it to explain."""
    info = params.get("clientInfo")
    return (
        isinstance(params.get("protocolVersion"), str)
        and isinstance(params.get("capabilities"), dict)
        and isinstance(info, dict)
        and isinstance(info.get("name"), str)
        and isinstance(info.get("version"), str)
    )


def _version(params: Message) -> object:
    asked = params["protocolVersion"]
    return asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def _is_plain(params: Message) -> bool:
    """Whether a request is one of the handshake era; in the later one each request says its version."""
    meta = params.get("_meta", {})
    return isinstance(meta, dict) and not any(key.startswith("io.modelcontextprotocol/") for key in meta)
