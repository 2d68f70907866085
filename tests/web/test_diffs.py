"""Diffs as pages draw them: to the letter, with what stands beside the text."""

import html
import re

import pytest

from upcall.web.pages.markdown import preformatted

TWO = """\
diff --git a/src/users.py b/src/users.py
index 83db48f..bf269f4 100644
--- a/src/users.py
+++ b/src/users.py
@@ -10,3 +10,4 @@ def look_up(key):
     if not key:
-    user = find(key, limit=1)
+    user = find(key, limit=2)
+    cache(user)
     return user
@@ -40 +41 @@
--- a comment of SQL
+++ another
diff --git a/web/app.js b/web/app.js
--- a/web/app.js
+++ /dev/null
@@ -1 +0,0 @@
-let a;"""

HOSTILE = (
    "@@ -1,9 +1,9 @@\n-a\n@@ -5 +5 @@\n+b",
    "@@ -999999999999 +1 @@\n+b",
    "--- <script>\n+++ <img src=x onerror=alert(1)>\n+<b>\"'&amp;",
    "--- \n+++ \n--- \n+++ ",
    "diff --git a b\ndiff --git a b\n\n\n",
    "@@ -1 +1 @@\n\\ No newline at end of file\n-\n+",
    "+++ x\n--- y\n@@ @@",
)


def texts(drawn: str) -> str:
    """What a person reads and copies of the diff itself."""
    blocks = re.findall(r"<pre.*?</pre>", drawn, re.DOTALL)
    return "\n".join(html.unescape(re.sub("<[^>]*>", "", block)) for block in blocks)


@pytest.mark.promise("desk/26")
@pytest.mark.parametrize("diff", (TWO, *HOSTILE))
def test_a_diff_is_drawn_to_the_letter(diff: str) -> None:
    drawn = str(preformatted(diff, "diff"))
    assert texts(drawn) == diff.rstrip("\n")
    assert not re.search(r"<(?!/?(?:pre|code|span|mark|ul|li|a|bdi)\b)", drawn)


@pytest.mark.promise("desk/26")
def test_files_are_listed_with_what_comes_and_goes() -> None:
    listed = re.findall(
        r"<bdi>(.*?)</bdi></a> <span class=\"plus\">(.*?)</span> <span class=\"minus\">(.*?)<",
        preformatted(TWO),
    )
    minus = "\N{MINUS SIGN}"
    # A removed line that looks like the name of a file is none.
    assert listed == [("src/users.py", "+3", f"{minus}2"), ("web/app.js", "+0", f"{minus}1")]


@pytest.mark.promise("desk/26")
def test_lines_have_the_numbers_of_their_hunks_and_what_changed_in_them_is_marked() -> None:
    drawn = str(preformatted(TWO))
    assert '<span class="same" data-o="10" data-n="10">     <span class="keyword">if' in drawn
    assert 'class="del" data-o="11">' in drawn
    assert 'class="add" data-n="12">+    cache(user)' in drawn
    assert 'class="del" data-o="40">--' in drawn
    assert re.findall("<mark>(.*?)</mark>", drawn)[:2] == [
        '<span class="number">1</span>',
        '<span class="number">2</span>',
    ]
    assert drawn.count("data-part") == 3


def test_a_file_that_is_written_whole_is_numbered_and_a_fragment_is_not() -> None:
    assert 'data-n="2" data-part>+b' in preformatted("--- a.txt\n+++ a.txt\n+a\n+b")
    assert "data-n" not in preformatted("--- a.txt\n+++ a.txt\n a\n-b\n+c")


def test_lines_that_have_nothing_in_common_are_not_compared() -> None:
    assert "<mark>" not in preformatted("@@ -1 +1 @@\n-return None\n+raise KeyError(name)")
