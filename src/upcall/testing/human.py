"""A scripted person: answers open inquiries by rules, for demonstrations, CI and evaluations."""

import heapq
import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self, cast

__all__ = ["Decision", "Json", "Respond", "ScriptedHuman", "by_pattern", "words_of"]

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A reply: an answer or, if it `rejects`, a refusal with a reason; `after` so many seconds."""

    text: str
    rejects: bool = False
    after: float = 0.0


Respond = Callable[[Json], "str | Decision | None"]
"""Looks at an inquiry as the API shows it and says what to reply; None leaves it alone."""

PATIENCE = 20
LATEST = 2**62
"""Higher than the number of any event."""


def words_of(inquiry: Json) -> str:
    """What is asked, in all questions of an inquiry. Those of a form are its fields, and what it is about is the context."""
    questions = cast("list[Json]", inquiry["questions"])
    about = [str(inquiry["context"])] if any("field" in each for each in questions) else []
    return "\n".join([*about, *(str(each["question"]) for each in questions)])


def by_pattern(replies: Mapping[str, str]) -> Respond:
    """Reply by the first pattern that is found in the question's text."""

    def respond(inquiry: Json) -> str | None:
        asked = words_of(inquiry)
        return next((reply for pattern, reply in replies.items() if re.search(pattern, asked)), None)

    return respond


class ScriptedHuman:
    """Follows the event log in a thread of its own and answers what it has a reply for.

    `find` says where the daemon is at the moment, so that a restart under way is survived. `news` is told of each
    inquiry that was settled.
    """

    def __init__(
        self,
        find: Callable[[], tuple[str, str]],
        respond: Respond,
        *,
        via: str = "script",
        news: Callable[[Json], None] | None = None,
    ) -> None:
        self._find = find
        self._respond = respond
        self._via = via
        self._news = news
        self._after = 0
        self._due: list[tuple[float, str, str, bool]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="scripted-human", daemon=True)
        self.answered: list[Json] = []
        self.refused: list[str] = []
        """What the daemon said to replies that it did not take."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def skip(self) -> None:
        """Leave alone what was asked before now."""
        news = self._request("GET", f"/v1/events?after={LATEST}&limit=1")
        self._after = cast("int", news["next_after"])

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._look()
            except (OSError, LookupError):
                # The daemon is between two lives; what it was asked is still open when it is back.
                self._stop.wait(0.1)

    def _look(self) -> None:
        wait = min(PATIENCE, max(self._due[0][0] - time.monotonic(), 0.0)) if self._due else PATIENCE
        news = self._request("GET", f"/v1/events?after={self._after}&wait={wait:.3f}")
        for event in cast("list[Json]", news["items"]):
            if event["type"] in {"asked", "activated"} and not self._stop.is_set():
                self._consider(f"/v1/inquiries/{event['inquiry']}")
            self._after = cast("int", event["seq"])
        while self._due and self._due[0][0] <= time.monotonic() and not self._stop.is_set():
            _, path, text, rejects = self._due[0]
            self._reply(path, text, rejects=rejects)
            heapq.heappop(self._due)

    def _consider(self, path: str) -> None:
        inquiry = self._request("GET", path)
        if inquiry["state"] != "open" or inquiry["queued"]:
            return
        try:
            reply = self._respond(inquiry)
        except (OSError, LookupError) as problem:
            # Not to be taken for a daemon that is away.
            raise RuntimeError(f"no reply could be made to {words_of(inquiry)!r}") from problem
        if reply is None:
            return
        said = Decision(text=reply) if isinstance(reply, str) else reply
        # Also one that is due at once: where a daemon restarts in between, it is sent again, and not made anew.
        heapq.heappush(self._due, (time.monotonic() + said.after, path, said.text, said.rejects))

    def _reply(self, path: str, text: str, *, rejects: bool) -> None:
        body: Json = {"reason" if rejects else "text": text, "via": self._via}
        try:
            settled = self._request("POST", f"{path}/{'reject' if rejects else 'answer'}", body)
        except urllib.error.HTTPError as refusal:
            if refusal.code >= 500:
                raise
            # Repeated, it would be refused again.
            self.refused.append(refusal.read().decode("utf-8", "replace"))
            return
        self.answered.append(cast("Json", settled["inquiry"]))
        if self._news is not None:
            self._news(self.answered[-1])

    def _request(self, method: str, path: str, body: Json | None = None) -> Json:
        url, token = self._find()
        request = urllib.request.Request(  # noqa: S310 - the address is our own daemon's
            url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
        )
        # As above.
        with urllib.request.urlopen(request, timeout=PATIENCE * 2) as response:  # noqa: S310
            return cast("Json", json.load(response))
