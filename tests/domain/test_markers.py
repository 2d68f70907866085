"""Questions that are written into a program's text."""

import json
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from upcall.domain.run.markers import MARKED_CHARACTERS, Marked, MarkedBadly, Markers

OPENING, CLOSING = "<<UPCALL_QUESTION>>", "<</UPCALL_QUESTION>>"
QUESTION = {"question": "Which cache?", "options": ["Redis", "Memcached"]}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
questions = st.dictionaries(st.text(), json_values, max_size=4)


def marked(content: str) -> str:
    return f"{OPENING}{content}{CLOSING}"


def found(*pieces: str, name: str = "UPCALL_QUESTION") -> list[Marked | MarkedBadly]:
    markers = Markers(name)
    return [seen for piece in pieces if (seen := markers.read(piece)) is not None]


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in pairwise(edges)]


@pytest.mark.promise("gza/1", "gza/11")
@given(st.text(), questions, st.text(), st.lists(st.integers(0, 2000)))
def test_a_question_is_found_however_the_text_is_cut(
    before: str, question: dict[str, object], after: str, cuts: list[int]
) -> None:
    if OPENING in before or CLOSING in json.dumps(question):
        return
    text = before + marked(f"\n{json.dumps(question)}\n") + after

    assert found(*pieces_of(text, cuts)) == [Marked(fields=question)]


@given(st.lists(st.text() | st.sampled_from([OPENING, CLOSING, "<<", ">>", "{", "}", '{"a": 1}'])))
def test_any_text_can_be_read_and_tells_one_thing_at_most(pieces: list[str]) -> None:
    seen = found(*pieces)

    assert len(seen) <= 1
    assert seen == found("".join(pieces))


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(QUESTION),
        f" {json.dumps(QUESTION, indent=2)} ",
        f"\n```json\n{json.dumps(QUESTION, indent=2)}\n```\n",
    ],
)
def test_white_space_and_code_fences_do_not_matter(content: str) -> None:
    assert found(f"I need to know:\n```\n{marked(content)}\n```") == [Marked(fields=QUESTION)]


def test_braces_inside_are_part_of_the_question() -> None:
    nested = {"question": "Use {a: {b}} or }?", "context": {"deep": {"er": ["{"]}}}

    assert found(marked(json.dumps(nested))) == [Marked(fields=nested)]


@pytest.mark.promise("gza/35", "spec/67")
def test_only_the_first_question_counts() -> None:
    assert found(
        marked(json.dumps(QUESTION)) + marked('{"question": "And?"}'), marked('{"question": "So?"}')
    ) == [Marked(fields=QUESTION)]


@pytest.mark.promise("spec/67")
@pytest.mark.parametrize("content", ["{question: unquoted}", "[1, 2]", "", "null", '{"a": ' * 20_000])
def test_what_is_no_json_object_is_told_and_asks_nothing(content: str) -> None:
    (seen,) = found(marked(content))

    assert isinstance(seen, MarkedBadly)
    assert seen.problem


def test_a_marker_that_is_never_closed_is_given_up() -> None:
    seen = found(OPENING, *["x" * 1000] * (MARKED_CHARACTERS // 1000 + 2))

    assert [type(each) for each in seen] == [MarkedBadly]
    assert found(OPENING + '{"question": "Which') == []


@pytest.mark.promise("gza/6", "spec/67")
def test_the_name_can_be_another() -> None:
    text = '<<GZA_QUESTION>>{"question": "Which?"}<</GZA_QUESTION>>'

    assert found(text, name="GZA_QUESTION") == [Marked(fields={"question": "Which?"})]
    assert found(text) == []
