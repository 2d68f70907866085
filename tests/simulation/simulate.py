"""Runs the world of a plan, and makes a plan that breaks a promise as small as it can be."""

from dataclasses import dataclass

from tests.silence import silent
from tests.simulation.facts import Broken
from tests.simulation.loop import Stuck
from tests.simulation.oracle import REST, check, left
from tests.simulation.plan import Plan
from tests.simulation.world import World

MOST_STEPS = 300_000
ACTIVE = 1_500.0
HEALED = 12_000.0
"""Virtual seconds with faults, and then without: longer than any lease, pause or jump of the clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulated:
    """What came of a plan: how many steps, and the promise that it broke, if any."""

    plan: Plan
    steps: int
    seconds: float
    broken: Broken | None
    trace: tuple[str, ...]


def simulate(plan: Plan) -> Simulated:
    """Run a world to its rest, and have the oracle look at it."""
    with silent():
        return _simulated(plan)


def _simulated(plan: Plan) -> Simulated:
    world = World(plan)
    broken: Broken | None = None
    try:
        world.loop.run(world.begin(), most=MOST_STEPS)
        rested = world.loop.run(world.until_rest(ACTIVE), most=MOST_STEPS)
        if not rested:
            world.heal()
            rested = world.loop.run(world.until_rest(HEALED), most=MOST_STEPS)
        check(world, rested=rested)
    except Stuck as stuck:
        broken = Broken(REST, f"{stuck}; {left(world)}")
    except Broken as problem:
        broken = problem
    finally:
        world.loop.close()
    return Simulated(
        plan=plan,
        steps=world.loop.steps,
        seconds=world.loop.time(),
        broken=broken,
        trace=tuple(world.facts.trace),
    )


def shrunk(found: Simulated) -> Simulated:
    """The smallest world that breaks the same promise."""
    assert found.broken is not None
    rule = found.broken.rule
    smaller = True
    while smaller:
        smaller = False
        for plan in found.plan.smaller():
            again = simulate(plan)
            if again.broken is not None and again.broken.rule == rule:
                found, smaller = again, True
                break
    return found
