"""Remembered rules over HTTP: list, show, make and revoke. They are people's business, and agents never see them."""

import shlex

from starlette.responses import Response

from upcall.approvals.rulebook import Rulebook
from upcall.broker.broker import Broker
from upcall.domain.approval.rules import DEFAULT_SECONDS, Rule
from upcall.domain.document import timestamp
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.call import Call

PAGE, LARGEST_PAGE = 50, 200
LONGEST = 2000


class RuleHandlers:
    """The handlers of everything under `/v1/rules`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._book = Rulebook(broker)

    async def list(self, call: Call) -> Response:
        """List remembered rules, the newest first."""
        sent = call.query()
        limit = fields.integer(sent, "limit", default=PAGE, least=1, most=LARGEST_PAGE)
        found, following = await self._book.page(sent.get("cursor") or None, limit)
        now = self._broker.now()
        return Json({"items": [_document(rule, now) for rule in found], "next": following})

    async def get(self, call: Call) -> Response:
        """Read a rule."""
        return Json(_document(await self._book.get(call.name), self._broker.now()))

    async def add(self, call: Call) -> Response:
        """Make a rule."""
        body = await call.body()
        span = body.get("for")
        rule = await self._book.add(
            call.caller,
            agent=fields.text(body, "agent"),
            tool=fields.text(body, "tool"),
            directory=fields.text(body, "directory", most=LONGEST),
            prefix=fields.text(body, "prefix", most=LONGEST),
            seconds=DEFAULT_SECONDS if span is None else fields.seconds(span, "for"),
        )
        return Json(_document(rule, self._broker.now()), 201)

    async def revoke(self, call: Call) -> Response:
        """Revoke a rule."""
        await self._book.revoke(call.name, call.caller)
        return Json({"id": call.name, "revoked": True})


def _document(rule: Rule, now: float) -> dict[str, object]:
    return {
        "id": rule.id,
        "as": rule.way,
        "agent": rule.agent,
        "tool": rule.tool,
        "directory": rule.directory,
        "prefix": shlex.join(rule.prefix) if rule.prefix else None,
        "shown": rule.shown,
        "sha256": rule.exact,
        "by": rule.by,
        "inquiry": rule.inquiry,
        "made_at": timestamp(rule.made_at),
        "expires_at": timestamp(rule.expires_at),
        "active": now < rule.expires_at,
    }
