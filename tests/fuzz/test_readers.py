"""Everything that reads what others wrote takes it or refuses it: a short search; `make fuzz` is the long one."""

import pytest
from hypothesis import given, settings

from tests.fuzz.inputs import LENIENT, inputs, seeds
from tests.fuzz.targets import TARGETS

pytestmark = pytest.mark.thorough
EXAMPLES = 60


@pytest.mark.promise("proof/7")
@pytest.mark.parametrize("name", TARGETS)
def test_nothing_but_a_refusal_comes_of_any_input(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=EXAMPLES, suppress_health_check=LENIENT)
    @given(inputs(target))
    def search(data: bytes) -> None:
        target.run(data)

    search()
    for data in seeds(target):
        target.run(data)
