"""Rules: what agents may do without asking. People see them, make one from an approval, and revoke them."""

import shlex
from dataclasses import dataclass

from starlette.responses import Response

from upcall.approvals.rulebook import Rulebook
from upcall.domain.approval.rules import Rule
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.text.display import one_line
from upcall.ports.store import Query
from upcall.web.pages.forms import UnusableForm, value, wanted_rule
from upcall.web.pages.locales import Words
from upcall.web.pages.rule_words import ways_in_words
from upcall.web.pages.site import Site
from upcall.web.pages.visit import Visit

PAGE = 50
MOST_APPROVALS = 20
SAID = ("rule_made", "rule_revoked")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRow:
    """A rule, ready for its template."""

    id: str
    about: str
    shown: str
    agent: str
    by: str
    inquiry: str
    until: float
    is_over: bool


class RulePages:
    """The handlers of `/rules`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._broker = site.broker
        self._book = Rulebook(site.broker)

    async def all(self, visit: Visit) -> Response:
        """Every rule, and the latest approvals that one can be made from."""
        found, following = await self._book.page(visit.query("cursor") or None, PAGE)
        now, said = self._broker.now(), visit.query("said")
        answered = Query(state="answered", kind=Kind.APPROVAL, limit=MOST_APPROVALS)
        approved = [each for each in (await self._broker.store.find(answered)).items if each.is_approved]
        return self._site.render(
            visit,
            "rules.html",
            rules=[_row(rule, visit.words, now) for rule in found],
            next=following,
            approvals=[row for each in approved if (row := _approval(each, visit.words))["ways"]],
            said=visit.words.say(f"said.{said}") if said in SAID else "",
            count=await self._broker.count_waiting(),
        )

    async def make(self, visit: Visit) -> Response:
        """Make a rule from an approval."""
        wanted = wanted_rule(visit.form)
        if wanted is None:
            raise UnusableForm("problem.choice")
        await self._book.add_from(value(visit.form, "inquiry"), wanted, visit.caller)
        return visit.redirect("/rules", said="rule_made")

    async def revoke(self, visit: Visit) -> Response:
        """Revoke one."""
        await self._book.revoke(visit.name, visit.caller)
        return visit.redirect("/rules", said="rule_revoked")


def _row(rule: Rule, words: Words, now: float) -> RuleRow:
    gaps = {
        "words": one_line(shlex.join(rule.prefix), 80),
        "tool": one_line(rule.tool or "", 60),
        "folder": one_line(rule.directory or "", 120),
    }
    return RuleRow(
        id=rule.id,
        about=words.say(f"rules.as.{rule.way}", **gaps),
        shown=rule.shown,
        agent=one_line(rule.agent or "", 60),
        by=one_line(rule.by, 60),
        inquiry=rule.inquiry or "",
        until=rule.expires_at,
        is_over=now >= rule.expires_at,
    )


def _approval(inquiry: Inquiry, words: Words) -> dict[str, object]:
    return {
        "id": inquiry.id,
        "ref": inquiry.ref,
        "action": one_line(inquiry.questions[0].text, 160),
        "agent": one_line(inquiry.origin.agent, 60),
        "ways": ways_in_words(inquiry, words),
    }
