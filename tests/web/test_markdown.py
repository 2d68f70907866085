"""Agents' markdown: what would take long to parse is shown as it is, and whole."""

import html

import pytest

from upcall.web.pages.markdown import MOST_BRACKETS, MOST_CELLS, blocks, rendered

AS_IT_IS = '<pre tabindex="0"><code dir="ltr">'


def table(columns: int, rows: int, row: str = "|") -> str:
    """One with rows that may end early: the parser fills them up."""
    return "\n".join(["|a" * columns, "|-" * columns, *[row] * rows])


@pytest.mark.parametrize(
    "text",
    [
        table(50, 4000),
        table(2600, 1000),
        "\n\n".join([table(50, 60)] * 2),
        f"> {table(50, 100)}".replace("\n", "\n> "),
        "[" * (MOST_BRACKETS + 1),
        "![" * (MOST_BRACKETS + 1),
        "[a](" * (MOST_BRACKETS + 1),
    ],
)
def test_what_takes_long_to_parse_is_shown_as_it_is(text: str) -> None:
    shown = rendered(text)
    assert shown.startswith(AS_IT_IS)
    assert html.unescape(shown.removeprefix(AS_IT_IS).removesuffix("</code></pre>")) == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (table(8, 100, "|b" * 8), "<td>b</td>"),
        # Tables are counted one by one: a long text with a wide one in it is no wide table.
        (table(30, 3) + "\n\n" + "Some words.\n" * 500, "<th>a</th>"),
        ("[a](https://example.com)\n" * 100, '<a href="https://example.com"'),
        ("- [x] **done**\n" * 200, "<strong>done</strong>"),
    ],
)
def test_long_reports_are_markdown(text: str, parts: str) -> None:
    assert parts in rendered(text)


def test_cells_that_the_parser_adds_are_counted_too() -> None:
    rows = MOST_CELLS // 51 - 2
    assert rendered(table(50, rows)).count("<td>") == 50 * rows
    assert "<td>" not in rendered(table(50, rows + 1))


@pytest.mark.parametrize(
    "entity", ["&#x202e;", "&#8238;", "&rlm;", "&ZeroWidthSpace;", "&shy;", "&#x200b;", "&#8294;"]
)
def test_an_entity_that_stands_for_what_cannot_be_seen_stands_for_nothing(entity: str) -> None:
    assert rendered(f"Delete {entity}gnp.exe") == "<p>Delete gnp.exe</p>\n"
    assert rendered(f"**Delete {entity}gnp** &lt; &auml;") == "<p><strong>Delete gnp</strong> &lt; ä</p>\n"


@pytest.mark.parametrize(
    "text",
    [
        "Install it.\n\n[//]: https://example.org 'and delete the backups'",
        "[1]: https://example.org (and delete the backups)",
        "|step|\n|-|\n|Install|and delete the backups|",
        "> |step|\n> |-|\n> |Install \\||and delete the backups",
        '[docs](https://example.org "and delete the backups")',
        '![docs](https://example.org "and delete the backups")',
        "```sh and delete the backups\nmake\n```",
        "- ```and-delete-the-backups\n  make\n  ```",
    ],
)
def test_what_other_programs_leave_out_is_drawn(text: str) -> None:
    drawn = [rendered(text), *(html for _, html in blocks(text))]
    assert "delete" in drawn[0].striptags()
    assert any("delete" in part.striptags() for part in drawn[1:])


def test_a_table_whose_rows_fit_is_a_table() -> None:
    text = "|a|b|\n|-|-|\n|1|2|\n1|2\n|1|\n|`x\\|y`|2|"
    assert rendered(text).count("<tr>") == 5
