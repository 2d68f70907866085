"""Questions in front of the person who sits at a client: as a form, or as a link (MCP's `elicitation/create`).

A form stands beside the other channels, and the first answer wins. It comes back over the agent's own connection, so it is taken
for questions and never for an approval: people approve where they are known.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from upcall.broker.broker import Broker, Reply
from upcall.domain.errors import EmptyAnswer, UnreadableAnswer, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.roles import Caller, Role
from upcall.domain.text.display import visible
from upcall.doors.mcp.asker import Asker
from upcall.doors.mcp.fields import Message, answers_in, schema_of

Mode = Literal["auto", "always", "never"]
Link = Callable[[Inquiry], Awaitable[str]]

ATTENDED = ("visual studio code", "cursor", "mcp-inspector", "inspector")
"""How the names of clients begin that a person looks at while they work."""

HERE = "here"
"""What a connection says of itself where a person sits in front of its client."""

UNHEARD = "unheard"
"""What is said of a connection that carries no responses."""

VIA = "elicitation"
WITH_LISTS = ("2025-11-25", "2026-07-28")
"""Versions of the protocol whose forms have choices with titles, and several of them at once."""

LONGEST_CONTEXT = 4000
DISMISSED = 10_000
"""How many forms are remembered that a person closed without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shows:
    """What a client puts before its person. `lists` says whether its forms have lists of choices."""

    form: bool = False
    url: bool = False
    lists: bool = True

    def __bool__(self) -> bool:
        return self.form or self.url


NOTHING = Shows()


class Elicitation:
    """Decides which client is asked, makes what it shows, and takes what comes back."""

    def __init__(self, broker: Broker, *, mode: Mode = "auto", link: Link | None = None) -> None:
        self._broker = broker
        self._mode = mode
        self._link = link
        self._dismissed: OrderedDict[str, None] = OrderedDict()

    def shown_by(self, capabilities: object, client: object, *, said: object, version: object) -> Shows:
        """What a client shows: nothing unless it declares that, and a person is known to sit there.

        `said` is what its connection says about a person. A client may declare it and have none, as in a pipeline.
        """
        declared = _part(capabilities, "elicitation")
        if declared is None or self._mode == "never" or said == UNHEARD:
            return NOTHING
        if self._mode == "auto" and said != HERE and not _is_attended(client):
            return NOTHING
        return Shows(
            # At first there were forms only, and clients of that time declare nothing more.
            form=not declared or _part(declared, "form") is not None,
            url=self._link is not None and _part(declared, "url") is not None,
            lists=version in WITH_LISTS,
        )

    async def request(self, inquiry: Inquiry, shows: Shows, problem: str = "") -> Message | None:
        """The parameters of `elicitation/create`; None if this question is not put to this client.

        `problem` says what did not fit the last time.
        """
        if not inquiry.is_open or inquiry.is_queued or inquiry.held or inquiry.id in self._dismissed:
            return None
        texts = [question.text for question in inquiry.questions] if len(inquiry.questions) == 1 else []
        said = (problem, *texts, inquiry.context[:LONGEST_CONTEXT])
        message = "\n\n".join(visible(text) for text in said if text.strip())
        if shows.form and is_for_forms(inquiry):
            schema = schema_of(inquiry, lists=shows.lists)
            if schema is not None:
                return {"message": message, "requestedSchema": schema}
        if shows.url and self._link is not None:
            return {"mode": "url", "message": message, "url": await self._link(inquiry)}
        return None

    async def take(self, name: str, asker: Asker, shows: Shows, response: object) -> str:
        """Take what came of a form; returns what does not fit about it, if something does not.

        Of a client that is shown no forms nothing is taken: the agent would answer itself.
        """
        try:
            inquiry = await self._broker.get(name, asker.caller)
            if not shows.form or not asker.caller.asked(inquiry) or not is_for_forms(inquiry):
                return ""
            content = _part(response, "content")
            person = Caller(name=f"user of {asker.origin.asker}", role=Role.PERSON)
            match (
                cast("Mapping[str, object]", response).get("action") if isinstance(response, Mapping) else ""
            ):
                case "accept" if content is not None:
                    reply = Reply(answers=answers_in(inquiry, content), via=VIA)
                    await self._broker.receive(inquiry.id, reply, person)
                case "decline":
                    await self._broker.reject(inquiry.id, person, via=VIA)
                case _:
                    self._dismiss(inquiry.id)
        except (UnreadableAnswer, EmptyAnswer) as unfit:
            return unfit.message
        except UpcallError:
            # It is no longer there, or not its turn: the form is of no use.
            return ""
        return ""

    def _dismiss(self, inquiry: str) -> None:
        self._dismissed[inquiry] = None
        while len(self._dismissed) > DISMISSED:
            self._dismissed.popitem(last=False)


def is_for_forms(inquiry: Inquiry) -> bool:
    """Whether a form may answer it. A secret is not typed into one, and what is approved is approved by a known person."""
    return is_question(inquiry) and not inquiry.secret


def is_question(inquiry: Inquiry) -> bool:
    """Whether it asks for words or a choice; everything else lets the agent do something."""
    return inquiry.kind in {Kind.TEXT, Kind.CHOICE}


def _is_attended(client: object) -> bool:
    return isinstance(client, str) and client.casefold().startswith(ATTENDED)


def _part(of: object, name: str) -> Mapping[str, object] | None:
    found = cast("Mapping[str, object]", of).get(name) if isinstance(of, Mapping) else None
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else None
