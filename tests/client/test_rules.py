"""Remembered rules and modes, as a program meets them that has its actions approved."""

from functools import partial

import pytest

import upcall
from tests.client.program import Crew
from upcall.ports.store import Query

REMOVE = {"command": "rm -rf build"}


@pytest.mark.promise("programs/3")
async def test_what_a_person_allows_always_is_allowed_at_once_the_next_time(crew: Crew) -> None:
    approve = partial(crew.asker.approve, "bash", REMOVE, cwd="/srv/shop")

    async def allow_always(ref: str) -> None:
        await crew.said(ref, "Approve", remember={"as": "exact"})

    first = await crew.outcome_of(approve, allow_always)
    again = await approve()
    elsewhere = await crew.asker.approve("bash", REMOVE, cwd="/srv/other", timeout=0)

    assert isinstance(first, upcall.Allowed)
    assert (first.by, first.rule) == ("ana", "")
    (rule,) = (await crew.house.as_("ana").get("/v1/rules")).json()["items"]
    assert again == upcall.Allowed(input=REMOVE, note="", by="ana", rule=rule["id"], outcome=None)
    assert isinstance(elsewhere, upcall.Denied), "a rule is for its folder"
    noted = [each for each in await crew.house.broker.store.events(0) if each.type == "allowed_by_rule"]
    assert [(each.data["agent"], each.data["rule"]) for each in noted] == [("builder", rule["id"])]


async def test_a_rule_that_was_revoked_allows_nothing(crew: Crew) -> None:
    made = await crew.house.as_("ana").post("/v1/rules", json={"tool": "bash", "agent": "builder"})
    assert isinstance(await crew.asker.approve("bash", REMOVE), upcall.Allowed)
    await crew.house.as_("ana").delete(f"/v1/rules/{made.json()['id']}")

    assert isinstance(await crew.asker.approve("bash", REMOVE, timeout=0), upcall.Denied)


async def test_what_a_person_said_under_a_key_counts_before_a_rule_that_came_later(crew: Crew) -> None:
    """A program that is started again gets what was decided for its call, to the letter."""
    approve = partial(crew.asker.approve, "bash", REMOVE)
    refs = {}
    for key in ("edited", "denied", "waiting"):
        verdict = await approve(key=key, timeout=0)
        assert verdict.outcome is not None
        refs[key] = verdict.outcome.ref
    await crew.said(refs["edited"], "Approve", input={"command": "rm -rf dist"})
    await crew.said(refs["denied"], "Deny", note="never")
    await crew.house.as_("ana").post("/v1/rules", json={"tool": "bash", "agent": "builder"})

    again = await approve(key="edited")
    assert isinstance(again, upcall.Allowed)
    assert (again.input, again.rule) == ({"command": "rm -rf dist"}, "")
    still = await approve(key="denied")
    assert isinstance(still, upcall.Denied)
    assert still.reason == "never"
    assert isinstance((await approve(key="waiting", timeout=0)).outcome, upcall.Parked)
    assert isinstance(await approve(key="another"), upcall.Allowed)


async def test_a_thread_in_which_its_agent_acts_freely_is_no_other_agents_licence(crew: Crew) -> None:
    made = await crew.house.as_("builder").post("/v1/threads", json={"id": "night"})
    chosen = await crew.house.as_("root").patch("/v1/threads/night", json={"permissions": "autonomous"})
    assert (made.status_code, chosen.status_code) == (201, 200), chosen.text

    assert isinstance(await crew.asker.approve("bash", REMOVE, thread="night"), upcall.Allowed)
    async with upcall.Client(crew.house.url, crew.house.secrets["painter"]) as other:
        with pytest.raises(upcall.errors.UnknownThread):
            await other.approve("bash", REMOVE, thread="night", timeout=0)
    assert (await crew.house.broker.store.find(Query())).items == ()
