"""A scripted person: answers open inquiries by rules, for demonstrations, CI and evaluations."""

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Self, cast

Json = dict[str, object]
Respond = Callable[[Json], str | None]
"""Looks at an inquiry as the API shows it and says what to reply; None leaves it alone."""

PATIENCE = 20


def by_pattern(replies: Mapping[str, str]) -> Respond:
    """Reply by the first pattern that is found in the question's text."""

    def respond(inquiry: Json) -> str | None:
        asked = "\n".join(str(each["question"]) for each in cast("list[Json]", inquiry["questions"]))
        return next((reply for pattern, reply in replies.items() if re.search(pattern, asked)), None)

    return respond


class ScriptedHuman:
    """Follows the event log in a thread of its own and answers what it has a reply for.

    `find` says where the daemon is at the moment, so that a restart under way is survived.
    """

    def __init__(self, find: Callable[[], tuple[str, str]], respond: Respond, *, via: str = "script") -> None:
        self._find = find
        self._respond = respond
        self._via = via
        self._after = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="scripted-human", daemon=True)
        self.answered: list[Json] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                self._look()
            except (OSError, LookupError):
                # The daemon is between two lives; what it was asked is still open when it is back.
                self._stop.wait(0.1)

    def _look(self) -> None:
        news = self._request("GET", f"/v1/events?after={self._after}&wait={PATIENCE}")
        for event in cast("list[Json]", news["items"]):
            if event["type"] in {"asked", "activated"} and not self._stop.is_set():
                self._consider(f"/v1/inquiries/{event['inquiry']}")
            self._after = cast("int", event["seq"])

    def _consider(self, path: str) -> None:
        inquiry = self._request("GET", path)
        reply = self._respond(inquiry) if inquiry["state"] == "open" and not inquiry["queued"] else None
        if reply is not None:
            settled = self._request("POST", f"{path}/answer", {"text": reply, "via": self._via})
            self.answered.append(cast("Json", settled["inquiry"]))

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
