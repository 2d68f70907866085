"""Every promise has a test that names it or a reason why not, and nothing else is claimed."""

import re
from collections import defaultdict

from tests.repository.promises import MANIFESTS, modules_by_promise, named_in, promises, report


def test_every_promise_is_proved_by_a_test_or_says_why_not() -> None:
    named = modules_by_promise()
    assert [each.id for each in promises() if not each.planned and each.id not in named] == []


def test_what_is_only_planned_has_no_test() -> None:
    named = modules_by_promise()
    assert {each.id: named[each.id] for each in promises() if each.planned and each.id in named} == {}


def test_every_marker_names_a_promise() -> None:
    known = {each.id for each in promises()}
    assert {name: where for name, where in modules_by_promise().items() if name not in known} == {}


def test_promises_are_numbered_in_their_order_and_say_something() -> None:
    numbers = defaultdict(list)
    for each in promises():
        name, _, number = each.id.partition("/")
        numbers[name].append(int(number))
        assert each.text.strip()
    assert {name: list(range(1, len(found) + 1)) for name, found in numbers.items()} == numbers
    assert numbers.keys() == {path.stem for path in MANIFESTS.glob("*.toml")}


def test_a_marker_is_found_wherever_it_stands() -> None:
    source = """
pytestmark = pytest.mark.promise("a/1")
class TestIt:
    @pytest.mark.promise("a/2", "a/3")
    async def test_it(self): ...
def promise(name): ...
promise("a/4")
"""
    assert sorted(named_in(source)) == ["a/1", "a/2", "a/3"]


def test_the_count_of_what_is_only_planned_is_told() -> None:
    planned = sum(1 for each in promises() if each.planned)
    assert re.search(rf"\b{planned} are only planned", report())
