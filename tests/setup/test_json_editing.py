"""One entry is changed, and the rest of the text stays as it was."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from upcall.setup import json_editing
from upcall.setup.errors import MalformedError
from upcall.setup.json_reading import read

COMMENTED = """\
{
    // what I like
    "theme": "dark", /* really */
    "mcp": {
        "other": {"command": ["other"]}, // keep this
    },
}
"""


def test_comments_commas_and_indentation_stay_where_they_are() -> None:
    changed = json_editing.put(COMMENTED, ("mcp", "upcall"), {"enabled": True})

    assert changed == COMMENTED.replace(
        "// keep this\n", '// keep this\n        "upcall": {\n            "enabled": true\n        },\n'
    )
    assert json_editing.take(changed, ("mcp", "upcall")) == COMMENTED


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("{}", '{\n  "a": {\n    "b": 1\n  }\n}'),
        ('{"x":1}', '{"x":1, "a": {"b": 1}}'),
        ('{"a":{}}', '{"a":{"b": 1}}'),
        ('{\n\t"x": 1\n}\n', '{\n\t"x": 1,\n\t"a": {\n\t\t"b": 1\n\t}\n}\n'),
        ('{\r\n  "x": 1\r\n}', '{\r\n  "x": 1,\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}'),
        ('{\n  "x": 1 // one\n}', '{\n  "x": 1, // one\n  "a": {\n    "b": 1\n  }\n}'),
        ('{\n  "a": {"b": [1,\n 2]}\n}', '{\n  "a": {"b": 1}\n}'),
        ('{\n  "a": {\n    // nothing yet\n  }\n}', '{\n  "a": {\n    // nothing yet\n    "b": 1\n  }\n}'),
    ],
)
def test_an_entry_is_written_the_way_its_neighbours_are(text: str, changed: str) -> None:
    assert json_editing.put(text, ("a", "b"), 1) == changed


def test_a_word_is_put_into_a_list_once() -> None:
    text = '{"allow": ["Bash(ls)"]}'
    changed = json_editing.add(text, ("allow",), "mcp__upcall__ask_human")

    assert changed == '{"allow": ["Bash(ls)", "mcp__upcall__ask_human"]}'
    assert json_editing.add(changed, ("allow",), "mcp__upcall__ask_human") == changed
    assert json_editing.drop(changed, ("allow",), "mcp__upcall__ask_human") == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ('{\n  "a": \n}', 3),
        ("{\n  a: 1\n}", 2),
        ('{"a": 1}\n\nx', 3),
        ('{"a": "un\nclosed"}', 1),
        ("", 1),
        ("[" * 5000, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(MalformedError) as refused:
        read(text)
    assert refused.value.line == line


def test_an_entry_cannot_be_put_into_what_is_no_object() -> None:
    with pytest.raises(MalformedError, match="mcp is not an object"):
        json_editing.put('{\n "mcp": []\n}', ("mcp", "upcall"), {})
    with pytest.raises(MalformedError, match="allow is not a list"):
        json_editing.add('{"allow": {}}', ("allow",), "x")


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "mcp", "x y"]), VALUES, max_size=4)
LAYOUTS = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(document=OBJECTS, layout=LAYOUTS, value=VALUES)
def test_whatever_is_put_in_comes_out_again(
    document: dict[str, object], layout: int | str | None, value: object
) -> None:
    text = json.dumps(document, indent=layout)
    changed = json_editing.put(text, ("upcall",), value)

    assert json.loads(changed) == document | {"upcall": value}
    assert json.loads(json_editing.take(changed, ("upcall",))) == document
    assert json_editing.put(changed, ("upcall",), value) == changed


@given(document=OBJECTS, layout=LAYOUTS)
def test_any_entry_can_be_taken_out(document: dict[str, object], layout: int | str | None) -> None:
    text = json.dumps(document, indent=layout)
    for name in document:
        rest = {key: value for key, value in document.items() if key != name}
        assert json.loads(json_editing.take(text, (name,))) == rest


@given(text=st.text(alphabet='{}[]",:/*\\ \n1tx', max_size=30))
def test_a_reader_refuses_or_understands_and_never_fails(text: str) -> None:
    with suppress(MalformedError):
        assert read(text).end <= len(text)
