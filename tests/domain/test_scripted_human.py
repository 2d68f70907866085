"""What a scripted human says to which question."""

import pytest

from upcall.testing.human import by_pattern


@pytest.mark.promise("spec/144")
def test_the_first_pattern_that_is_found_decides_and_the_rest_is_left_alone() -> None:
    respond = by_pattern({"cache": "Redis", "Which": "the second"})

    assert respond({"questions": [{"question": "Which cache?"}]}) == "Redis"
    assert respond({"questions": [{"question": "How?"}, {"question": "Which?"}]}) == "the second"
    assert respond({"questions": [{"question": "Why?"}]}) is None
