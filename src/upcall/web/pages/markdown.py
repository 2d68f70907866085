"""Agents' markdown as HTML that can only be looked at.

Raw HTML is text, images are not loaded, a link shows where it leads, headings do not compete with ours, and
characters that hide or reorder are gone, also those that an entity stands for. What Markdown would leave out is drawn too: a
person decides about the whole text.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markupsafe import Markup, escape

from upcall.domain.text.display import visible
from upcall.web.pages.diffs import drawn
from upcall.web.pages.highlighting import highlighted

LONGEST = 20_000
MOST_CELLS = 5_000
MOST_BRACKETS = 300
MOST_MARKS = 2_000
"""Text with more in it is shown as it is: parsing it would hold up every other request."""

LONGEST_HEADING = 4_000
"""Characters of a question's first paragraph up to which its marks are read."""

MOST_COLOURED = 2_000
"""Lines of a diff up to which each has a colour of its own."""

DIFF_LANGUAGES = {"diff", "patch", "udiff"}
_DIFF = re.compile(r"^(?:@@ .*@@|diff --git |--- .*\n\+\+\+ )", re.MULTILINE)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# A blank line, or a line that begins a list, a fence, a heading, a quotation or a table.
_NO_PARAGRAPH = re.compile(r"(?:\A|\n)[ \t]*(?:\n|[-*+][ \t]|\d{1,9}[.)][ \t]|```|~~~|#{1,6}[ \t]|>|\|)")
_EMPHASIS = re.compile(r"[`*_\[]")
_ALLOWED_LINK = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{0,20}")
_CELL_END = re.compile(r"(?<!\\)\|")


def rendered(text: str) -> Markup:
    """Markdown of an agent. What is drawn is remembered, unless it is long: agents decide how long their texts are."""
    return _remembered(text) if len(text) <= LONGEST else _rendered(text)


def blocks(text: str, mark: Callable[[int], Markup] | None = None) -> list[tuple[int, Markup]]:
    """The parts of a text, each with the number of its first line: paragraphs, headings, code, and single items of lists.

    An item within an item begins with what `mark` makes of the number of its line.
    """
    shown = visible(text)
    before = len(shown) - len(shown.lstrip("\n"))
    shown = shown.strip("\n")
    if _is_too_much(shown):
        return [(before + line, preformatted(part)) for line, part in _paragraphs(shown)]
    parser, found = _parser(), list[tuple[int, Markup]]()
    env: dict[str, Any] = {}
    for tokens in _parts(parser.parse(shown, env)):
        if mark is not None:
            tokens = list(_marked(tokens, lambda line: mark(before + line)))
        # As in `_rendered`.
        html = Markup(parser.renderer.render(tokens, parser.options, env))  # noqa: S704
        # The first token of an item is its whole list's.
        lines = next((token.map for token in tokens[1:] + tokens if token.map), [0])
        found.append((before + lines[0] + 1, html))
    return found


def _parts(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Blocks of the top level; a list comes item by item, each as a list of its own that goes on with its number."""
    part, opening = list[Token](), list[Token]()
    for token in tokens:
        in_list = bool(opening) and opening[0].type.endswith("_list_open")
        if token.level == 0 and token.nesting == 1:
            opening = [token]
            part = [token]
            continue
        if in_list and token.level == 1 and token.type == "list_item_open":
            head = opening[0].copy(attrs={"start": int(token.info)} if token.info else {})
            part = [head, token]
            continue
        part.append(token)
        if in_list and token.level == 1 and token.type == "list_item_close":
            tag = opening[0].tag
            closing = Token(opening[0].type.replace("_open", "_close"), tag, -1, block=True)
            yield [*part, closing]
        elif token.level == 0:
            if not in_list:
                yield part
            part, opening = [], []


def _marked(tokens: Sequence[Token], mark: Callable[[int], Markup]) -> Iterator[Token]:
    for token in tokens:
        yield token
        if token.type == "list_item_open" and token.level > 1 and token.map:
            yield Token("html_block", "", 0, content=mark(token.map[0] + 1), block=True)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    line = 1
    for part in text.split("\n\n"):
        if part.strip("\n"):
            yield line + len(part) - len(part.lstrip("\n")), part.strip("\n")
        line += part.count("\n") + 2


def as_heading(text: str) -> tuple[Markup, Markup | None]:
    """A question of an agent: its first paragraph, for a heading, and what follows it.

    What begins with anything but a paragraph has its first line as it is written for a heading.
    """
    shown = visible(text).strip("\n")
    begins = _NO_PARAGRAPH.search(shown)
    head, rest = (shown, "") if begins is None else (shown[: begins.start()], shown[begins.start() :])
    if not head.strip():
        head, _, rest = shown.partition("\n")
        return escape(head), rendered(rest) if rest.strip() else None
    return _inline(head.strip()), rendered(rest) if rest.strip() else None


def as_line(text: str) -> str:
    """The heading of a question as plain words, for a list: without the marks of what is bold or code."""
    return as_heading(text)[0].striptags() if _EMPHASIS.search(text) else text


@lru_cache(maxsize=256)
def _inline(text: str) -> Markup:
    if len(text) > LONGEST_HEADING or text.count("[") > MOST_BRACKETS or _marks(text) > MOST_MARKS:
        return escape(text)
    # As below. A heading keeps its line breaks by itself.
    return Markup(_parser().renderInline(text).replace("<br />\n", "\n"))  # noqa: S704


@lru_cache(maxsize=256)
def _remembered(text: str) -> Markup:
    return _rendered(text)


def _rendered(text: str) -> Markup:
    shown = visible(text).strip("\n")
    if _is_too_much(shown):
        return preformatted(shown)
    # What markdown-it makes of text is escaped, and the rules below escape what they add.
    return Markup(_parser().render(shown))  # noqa: S704


def _is_too_much(shown: str) -> bool:
    return (
        len(shown) > LONGEST
        or shown.count("[") > MOST_BRACKETS
        or _marks(shown) > MOST_MARKS
        or _cells(shown) > MOST_CELLS
    )


def _marks(text: str) -> int:
    return sum(map(text.count, "*_~<&"))


def _cells(text: str) -> int:
    """How many cells its tables have at most: a row that ends early is filled up to the width of the widest."""
    blocks = [block.split("\n") for block in _BLANK_LINE.split(text) if "|" in block]
    return sum(len(lines) * max(line.count("|") + 1 for line in lines) for lines in blocks)


def preformatted(text: str, language: str = "") -> Markup:
    """Text as it is, with the lines of a diff marked, and what a language that is named is made of."""
    text = text.rstrip("\n")
    is_diff = language.lower() in DIFF_LANGUAGES or _DIFF.search(text) is not None
    if not is_diff or text.count("\n") > MOST_COLOURED:
        code = highlighted(text, language)
        return Markup('<pre tabindex="0"><code dir="ltr">{}</code></pre>').format(code)
    return drawn(text)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False, "breaks": True})
    parser.enable(["table", "strikethrough"])
    # A definition is not drawn, so it would be the place for what a person is not to see.
    parser.disable("reference")
    parser.validateLink = lambda url: _ALLOWED_LINK.match(url) is not None  # type: ignore[method-assign]  # its way of configuring
    parser.core.ruler.push("visible", _visible)
    parser.core.ruler.push("whole_tables", _whole_tables)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("heading_open", _heading_open)
    parser.add_render_rule("heading_close", _heading_close)
    parser.add_render_rule("th_open", _cell_open)
    parser.add_render_rule("td_open", _cell_open)
    return parser


def _visible(state: StateCore) -> None:
    """Leave out what an entity such as `&#x202e;` stands for, where that cannot be seen: it is known only now."""
    for token in state.tokens:
        for child in token.children or ():
            child.content = visible(child.content) if child.type == "text" else child.content


def _whole_tables(state: StateCore) -> None:
    """Draw a table as it is written where a row has more cells than its head: these are left out otherwise."""
    lines, found, tables = state.src.split("\n"), list[Token](), list[int]()
    for token in state.tokens:
        found.append(token)
        if token.type == "table_open":
            tables.append(len(found) - 1)
        elif token.type == "table_close":
            at = tables.pop()
            if _leaves_out(found[at:], lines):
                start, end = found[at].map or [0, 0]
                content = "\n".join(lines[start:end])
                found[at:] = [
                    Token(
                        "code_block",
                        "code",
                        0,
                        content=content,
                        map=[start, end],
                        level=token.level,
                        block=True,
                    )
                ]
    state.tokens = found


def _leaves_out(table: Sequence[Token], lines: Sequence[str]) -> bool:
    columns = sum(token.type == "th_open" for token in table)
    rows = [token.map[0] for token in table if token.type == "tr_open" and token.map]
    return any(_cells_of(lines[row]) > columns for row in rows[1:])


def _cells_of(row: str) -> int:
    row = row.strip(" \t>").removeprefix("|")
    return len(_CELL_END.findall(row)) + (not _CELL_END.search(row[-2:]))


# Rules of the renderer: it passes itself, the tokens, an index, its options and an environment that is ours.


def _fence(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    token = tokens[index]
    info = token.info.strip() if token.info else ""
    # Words behind the language are for programs, and are not drawn by others.
    said = "" if _LANGUAGE.fullmatch(info) else str(_where(info))
    return said + str(preformatted(token.content, info.split(" ")[0]))


def _image(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    token = tokens[index]
    return str(Markup('<span class="image">{} {}</span>').format(token.content, _where(_leads(token))))


def _link_open(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    opening = Markup('<a href="{}" rel="noopener noreferrer" target="_blank">')
    return str(opening.format(tokens[index].attrGet("href")))


def _link_close(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    """A link says where it leads, so that its words cannot pretend."""
    depth, position = 1, index
    while depth:
        position -= 1
        depth += (tokens[position].type == "link_close") - (tokens[position].type == "link_open")
    where = _leads(tokens[position])
    words = "".join(token.content for token in tokens[position + 1 : index])
    return "</a>" if words == where else f"</a> {_where(where)}"


def _leads(token: Any) -> str:
    """The address of a link or an image, with the title that it has."""
    address, title = token.attrGet("href") or token.attrGet("src"), token.attrGet("title")
    return f"{address} “{visible(title)}”" if title else str(address)


def _where(text: str) -> Markup:
    return Markup('<span class="where">{}</span>').format(text)


def _heading_open(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    return '<p class="heading"><strong>'


def _heading_close(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    return "</strong></p>\n"


def _cell_open(self: object, tokens: Sequence[Any], index: int, options: object, env: object) -> str:
    """Alignment would be a style of its own, which the pages' policy forbids."""
    return f"<{tokens[index].tag}>"
