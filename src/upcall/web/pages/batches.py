"""Approvals of the same action as one row of the list: unfolded, it is a form that decides about those selected in it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from starlette.responses import HTMLResponse, Response

from upcall.broker.broker import Settled
from upcall.broker.bulk import Decision, Verdict
from upcall.domain.approval.likeness import likeness
from upcall.domain.approval.rules import Remember
from upcall.domain.errors import UnknownInquiry, UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.text.display import one_line
from upcall.web.pages.forms import VIA, UnusableForm, span, value
from upcall.web.pages.ordering import group
from upcall.web.pages.site import Site, problem
from upcall.web.pages.visit import Visit

VERDICTS: dict[str, Verdict] = {
    "approve": "approve",
    "always": "approve",
    "deny": "deny",
    "snooze": "snooze",
    "undo": "undo",
}
ALWAYS = Remember(way="exact")
"""What *Always allow* remembers of each that is approved."""


class Listed(NamedTuple):
    """What stands in one place of the list: a row, or several that ask for the same, and what that is."""

    text: str
    rows: list[str]


def batches(inquiries: Sequence[Inquiry], now: float) -> list[list[Inquiry]]:
    """A list, in its order, in which those of a group that ask for the same stand together."""
    found: dict[tuple[str, str], list[Inquiry]] = {}
    for inquiry in inquiries:
        found.setdefault((group(inquiry, now), likeness(inquiry) or inquiry.id), []).append(inquiry)
    return list(found.values())


class Batches:
    """The handler of `/decide`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._broker = site.broker

    async def decide(self, visit: Visit) -> Response:
        """Decide about exactly those that the form names."""
        wanted = value(visit.form, "verdict")
        verdict, always = VERDICTS.get(wanted), wanted == "always"
        names = list(dict.fromkeys(visit.form.get("id", [])))
        if verdict is None:
            raise UnusableForm("problem.verdict")
        if not names:
            raise UnusableForm("problem.none")
        # A rule is made at once.
        held = verdict in {"approve", "deny"} and not always
        decision = Decision(
            verdict=verdict,
            words=value(visit.form, "note").replace("\r\n", "\n"),
            seconds=span(visit.form) if verdict == "snooze" else 0.0,
            hold=self._site.settings.undo if held else 0.0,
            via=VIA,
            # One form decides in several ways: each is a request of its own.
            key=f"{value(visit.form, 'key')[:80]}:{wanted}",
            remember=ALWAYS if always else None,
        )
        done = await self._broker.bulk.decide(names, decision, visit.caller)
        taken = [each.inquiry for each in done if isinstance(each, Settled)]
        told = [await self._told(visit, verdict, name, each) for name, each in zip(names, done, strict=True)]
        counted = sum(not sentence for sentence in told)
        values: dict[str, Any] = {
            "said": visit.words.say(f"bulk.done.{wanted}", n=counted) if counted else "",
            "told": [sentence for sentence in told if sentence],
            "undoable": [each.id for each in taken if each.held and _is_own(each, decision)],
            "seconds": self._site.settings.undo,
        }
        if visit.wants_fragment:
            rows = "".join(self._site.row(visit, inquiry) for inquiry in taken)
            return HTMLResponse(
                rows + self._site.part(visit, "decided-part.html", token=visit.token, **values)
            )
        count = await self._broker.count_waiting()
        return self._site.render(visit, "decided.html", count=count, **values)

    async def _told(self, visit: Visit, verdict: str, name: str, done: Settled | UpcallError) -> str:
        """What there is to say about one of them; nothing where it went as it was meant."""
        words = visit.words
        if isinstance(done, UpcallError):
            return words.say("bulk.refused", ref=await self._ref(name), problem=problem(done, words))
        inquiry = done.inquiry
        if done.accepted:
            is_vote = verdict == "approve" and inquiry.is_open and not inquiry.held
            return words.say("said.vote", ref=inquiry.ref) if is_vote else ""
        if verdict == "approve" and inquiry.is_open and not inquiry.held:
            return words.say("said.voted", ref=inquiry.ref)
        return words.say("bulk.lost", ref=inquiry.ref, outcome=self._site.rendering.outcome(inquiry, words))

    async def _ref(self, name: str) -> str:
        try:
            return (await self._broker.store.get(name)).ref
        except UnknownInquiry:
            return one_line(name, 40)


def _is_own(inquiry: Inquiry, decision: Decision) -> bool:
    return inquiry.held is not None and inquiry.held.decision.closing.key == decision.key
