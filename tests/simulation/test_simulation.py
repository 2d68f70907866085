"""The promises hold in simulated worlds with crashes, and a rule that is taken away is missed by the oracle at once."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.simulation import oracle
from tests.simulation.plan import Plan, plan_in, random_plan
from tests.simulation.simulate import Simulated, shrunk, simulate
from upcall.dispatch import messages
from upcall.domain.inquiry import lifecycle
from upcall.domain.records import NOTHING
from upcall.domain.run import resume
from upcall.runs.deliveries import Deliveries

KEPT = sorted(Path(__file__).with_name("kept").glob("*.json"))
WORLDS = 40


@pytest.mark.promise("proof/5")
@pytest.mark.parametrize("first", range(0, WORLDS, 10))
def test_the_promises_hold_in_the_worlds_of_these_seeds(first: int) -> None:
    for seed in range(first, first + 10):
        done = simulate(random_plan(seed))
        assert done.broken is None, (done.broken, done.plan)


@pytest.mark.promise("proof/5")
@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_broke_a_promise_does_not_any_more(path: Path) -> None:
    done = simulate(plan_in(path.read_text()))
    assert done.broken is None, done.broken


def test_a_seed_brings_the_same_world_step_by_step() -> None:
    first, second = simulate(random_plan(11)), simulate(random_plan(11))
    assert (first.steps, first.seconds, first.trace) == (second.steps, second.seconds, second.trace)


def test_a_plan_is_the_same_after_it_was_kept() -> None:
    plan = random_plan(11)
    assert plan_in(plan.as_json()) == plan


async def no_evidence(*_: object) -> None:
    """Evidence that is not written down."""


def first_broken(seeds: range) -> Simulated:
    """The first world in which a promise is broken."""
    for seed in seeds:
        done = simulate(random_plan(seed))
        if done.broken is not None:
            return done
    raise AssertionError("no promise was broken")


@pytest.mark.promise("proof/5")
@pytest.mark.parametrize(
    ("owner", "name", "instead", "rules"),
    [
        (resume, "consequences", lambda _: NOTHING, {oracle.LOST, oracle.REST}),
        (Deliveries, "evidence", no_evidence, {oracle.ONCE}),
        (lifecycle, "rejoins", lambda *_: False, {"nothing is asked twice"}),
        (messages, "begun", lambda *_: None, {oracle.SHOWN}),
    ],
    ids=["no resume job", "no evidence", "no request keys", "no note before a message is sent"],
)
def test_a_world_without_a_rule_of_the_product_breaks_its_promise(
    monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, instead: Callable[..., Any], rules: set[str]
) -> None:
    monkeypatch.setattr(owner, name, instead)
    found = first_broken(range(60))
    assert found.broken is not None
    assert found.broken.rule in rules


@pytest.mark.promise("proof/5")
def test_what_is_found_is_shrunk_to_the_faults_that_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "rejoins", lambda *_: False)
    found = first_broken(range(60))
    smallest = shrunk(found)
    assert smallest.broken is not None
    assert found.broken is not None
    assert smallest.broken.rule == found.broken.rule
    assert size(smallest.plan) < size(found.plan)
    # Without any one of its faults, nothing is broken.
    for plan in smallest.plan.smaller():
        less = simulate(plan)
        assert less.broken is None or less.broken.rule != smallest.broken.rule


def size(plan: Plan) -> int:
    return plan.daemons + plan.runs + plan.own + plan.questions + plan.people + len(plan.faults)
