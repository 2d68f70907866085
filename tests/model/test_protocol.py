"""Every state of a small world is looked at: the promises hold in all of them, and each rule of the code is needed for that."""

import pytest

from tests.model.explorer import Explored, explore
from tests.model.protocol import Flaw, Model, always, in_the_end


def explored(flaw: Flaw, crashes: int, delays: int) -> Explored:
    model = Model(flaw)
    return explore(model.start(crashes, delays), model.steps, always=always, in_the_end=in_the_end)


@pytest.mark.promise("proof/6")
def test_the_promises_hold_in_every_state_with_two_daemons_two_people_and_two_crashes() -> None:
    found = explored(Flaw.NONE, crashes=2, delays=1)
    assert found.broken is None, found.broken
    assert found.states > 1000


@pytest.mark.promise("proof/6")
@pytest.mark.parametrize(
    ("flaw", "rule"),
    [
        (Flaw.KEY, "nothing is asked twice"),
        (Flaw.FIRST, "the first answer wins"),
        (Flaw.TOGETHER, "no answer is lost"),
        (Flaw.EVIDENCE, "no answer is lost"),
        (Flaw.LOCK, "a session never has two processes"),
        (Flaw.FENCE, "no session is started for an answer that it has"),
        (Flaw.TIMEOUT, "silence is never consent"),
    ],
)
def test_a_world_without_one_of_the_rules_breaks_a_promise(flaw: Flaw, rule: str) -> None:
    found = explored(flaw, crashes=2, delays=1)
    assert found.broken is not None
    assert found.broken.rule == rule
