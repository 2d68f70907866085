"""What agents are told about asking."""

import json
import re

from upcall.agents.prompt import ASKING, marker_advice, with_advice


def test_the_advice_names_the_tool_when_to_use_it_and_what_parked_means() -> None:
    for said in ("ask_human", "context", "recommended", "really blocked", "parked", "End your turn"):
        assert said in ASKING
    assert len(ASKING) < 1500


def test_a_task_stays_in_front_of_the_advice() -> None:
    assert with_advice("/review the code").startswith("/review the code\n\n")
    assert with_advice("Do it").endswith(ASKING)
    assert with_advice("Do it", "Carefully.") == "Do it\n\nCarefully."


def test_the_example_of_a_marker_is_one() -> None:
    example = re.search(r"<<GZA_QUESTION>>\n(.*)\n<</GZA_QUESTION>>", marker_advice("GZA_QUESTION"))

    assert example is not None
    assert set(json.loads(example[1])) == {"question", "context", "options"}
