"""Colours for code: what is coloured, and that nothing is changed."""

import html
import re

import pytest
from hypothesis import given, strategies as st

from upcall.web.pages.highlighting import highlighted

LANGUAGES = ("python", "bash", "typescript", "sql", "klingon")


@pytest.mark.parametrize(
    ("language", "text", "coloured"),
    [
        ("python", 'x = f("a # b")  # why', {"string": ['"a # b"'], "comment": ["# why"]}),
        (
            "py",
            '"""long\ntext"""\nreturn 12',
            {"string": ['"""long\ntext"""'], "keyword": ["return"], "number": ["12"]},
        ),
        ("bash", "echo $# # done", {"comment": ["# done"]}),
        (
            "ts",
            "const a = `x` // no\n/* or\nso */",
            {"keyword": ["const"], "string": ["`x`"], "comment": ["// no", "/* or\nso */"]},
        ),
        ("SQL", "SELECT 'it' -- all", {"keyword": ["SELECT"], "string": ["'it'"], "comment": ["-- all"]}),
        # From a quote that nothing closes, the rest is not read again and again.
        ("sh", "if x 'for \\'in 12\nfi", {"keyword": ["if", "fi"]}),
        ("js", "if `for \\`in\n12", {"keyword": ["if"]}),
        ("klingon", "return 12 # why", {}),
        ("", "return 12 # why", {}),
    ],
)
def test_what_a_language_is_made_of_is_told_apart(
    language: str, text: str, coloured: dict[str, list[str]]
) -> None:
    found: dict[str, list[str]] = {}
    for kind, part in re.findall(r'<span class="(\w+)">(.*?)</span>', highlighted(text, language), re.DOTALL):
        found.setdefault(kind, []).append(html.unescape(part))
    assert found == coloured


@given(st.text(alphabet="<>&\"'`\\/*#- \nreturn12_ä") | st.text(), st.sampled_from(LANGUAGES))
def test_not_a_letter_is_changed_and_nothing_but_spans_is_added(text: str, language: str) -> None:
    shown = str(highlighted(text, language))
    bare = re.sub(r'<span class="(?:comment|string|number|keyword)">|</span>', "", shown)
    assert "<" not in bare
    assert html.unescape(bare) == text
