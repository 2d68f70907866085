"""A plan as it is asked here: with the plan before, and without what a single person may not decide."""

from dataclasses import replace

from upcall.broker.policy import Policy
from upcall.domain.inquiry.asking import Draft
from upcall.domain.inquiry.inquiry import Kind, Origin
from upcall.domain.inquiry.plans import question
from upcall.domain.inquiry.revisions import revised
from upcall.ports.store import Query, Store

LOOKED_AT = 50
"""The newest plans of an agent among which the one before is looked for."""


def without_edits(draft: Draft) -> Draft:
    """The draft of a plan whose edits cannot be accepted with it."""
    asked = [replace(each, options=()) for each in draft.questions]
    return replace(draft, questions=(question(asked, draft.context, edits=False),))


async def prepared(draft: Draft, origin: Origin, store: Store, policy: Policy) -> Draft:
    """The draft of a plan, ready to be asked; any other as it is.

    Edits need as many people as each action does, so where that are several, one of them cannot accept all edits at once.
    """
    if draft.kind is not Kind.PLAN:
        return draft
    if policy.quorum > 1:
        draft = without_edits(draft)
    page = await store.find(Query(kind=Kind.PLAN, agent=origin.agent, run=origin.run, limit=LOOKED_AT))
    return replace(draft, earlier_plan=revised(page.items, origin))
