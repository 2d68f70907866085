"""Scripts and styles as they are sent: without what is only for readers of the source.

A name stays a name and a line stays in its order, so that what a browser's tools show can be found in the source.
"""

import re
from collections.abc import Iterator

_CSS_SPACE = re.compile(r"\s*([{};>])\s*|(?<=[:,])\s+")
_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)

# A slash begins a regular expression only where a value is expected, which is after one of these signs.
_JS_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|(?:(?<=[(,=:&|?!])|(?<=[(,=:&|?!]\s))/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])+/[a-z]*)
  | (?P<space>\s+)
  | (?P<name>[\w$]+)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_GOES_ON_AFTER = frozenset("{([,;=&|?:")
_GOES_ON_BEFORE = frozenset("})].,?:&|")


def packed_style(source: str) -> str:
    """A style sheet without comments, indentation and spaces beside signs."""
    return _CSS_SPACE.sub(r"\1", _CSS_COMMENT.sub("", source).strip()).replace(";}", "}")


def packed_script(source: str) -> str:
    """A script without comments and spaces; the end of a line stays where it may be the end of a statement."""
    return "".join(_joined(source))


def _joined(source: str) -> Iterator[str]:
    last, space = "", ""
    for token in _JS_TOKEN.finditer(source):
        text = token.group()
        match token.lastgroup:
            case "comment":
                continue
            case "space":
                space += text
                continue
            case _:
                pass
        if last == ";" and text != "}":
            yield last
        elif last and last != ";" and (between := _between(last[-1], space, text[0])):
            yield between
        if text != ";":
            yield text
        last, space = text, ""
    yield last if last == ";" else ""


def _between(left: str, space: str, right: str) -> str:
    """What has to stand between two tokens that were apart."""
    if "\n" in space:
        return "" if left in _GOES_ON_AFTER or right in _GOES_ON_BEFORE else "\n"
    apart = _in_a_name(left) and _in_a_name(right)
    return " " if space and (apart or left == right) else ""


def _in_a_name(letter: str) -> bool:
    return letter.isalnum() or letter in "_$"
