"""Text that is safe to show: nothing in it moves the cursor, reorders what is read or hides.

`visible` leaves such characters out, `escaped` shows them, for where a person approves exactly what they see. `inert` is for
services that look for names and addresses in any text and offer no way to tell them not to.
"""

import re
import unicodedata

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*+\x1b\\"  # device control and other strings
    r"|\x1b[ -/]*+[0-~]"  # the short ones
)
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ODD = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters other than tab and newline
    r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # bidirectional controls, separators
    r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"  # no width
    r"\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"  # annotations, half characters, tags
)
_JOINER = re.compile(r"[\u200c\u200d]")
_LOOKED_FOR = re.compile(
    r"(?<=:)(?=//)"  # https://evil.example
    r"|(?<=[^\W_]\.)(?=[^\W_])"  # evil.example, which is a link without any scheme as well
    r"|(?<=[@#$~!])(?=[\w(\[])"  # @channel, #tag, $TAG, ~channel, ![image]
    r"|(?<=\])(?=[(\[:])"  # [words](address), [words][name]
    r"|(?<=<)(?=[^\s])"  # <!channel>, <@U1>, <https://evil.example|words>
    r"|(?<=[A-Za-z]:)(?=[\w+])"  # mailto:, tel:
    r"|(?<![\w/.]/)(?<=/)(?=[A-Za-z])"  # /command
)
_BREAK = "\u200b"
_JOINABLE = {"Ll", "Lu", "Lo", "Lm", "Mn", "Mc", "So", "Sk"}


def visible(text: str) -> str:
    """The text without control characters (newline and tab stay), terminal escapes, bidi and zero-width characters.

    The two joiners U+200C and U+200D stay between characters that can need them: letters of scripts such as
    Persian and parts of an emoji. Next to ASCII, or to each other, they only hide and go.
    """
    if text.isascii() and text.isprintable():
        return text
    text = _LINE_END.sub("\n", _ANSI.sub("", text))
    text = _ODD.sub("", _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text))
    return _JOINER.sub(lambda found: found[0] if _joins(found) else "", text)


def escaped(text: str) -> str:
    """The text with every character that `visible` leaves out written out by its number."""
    if text.isascii() and text.isprintable():
        return text
    text = _JOINER.sub(lambda found: found[0] if _joins(found) else _escape(found), text)
    return _ODD.sub(_escape, text)


def one_line(text: str, width: int | None = None) -> str:
    """The visible text on one line, cut with `…` to so many columns; wide characters take two."""
    if width is None:
        return " ".join(visible(text).split())
    # Most of a very long text is never looked at.
    enough = 16 * max(width, 0) + 1024
    line = " ".join(visible(text[:enough]).split())
    used, fits = 0, 0
    for index, character in enumerate(line):
        used += _columns(character)
        if used < width:
            fits = index + 1
    if used <= width and len(text) <= enough:
        return line
    return line[:fits].rstrip(" \u200c\u200d") + "…" if width > 0 else ""


def inert(text: str) -> str:
    """The text, looking the same, in which no service finds a mention, a command or a link.

    A zero-width space stands where they would be recognised, so what is copied from it is not what was written: it is
    for messages that only tell, and lead to the whole of it.
    """
    return _LOOKED_FOR.sub(_BREAK, text)


def units(text: str) -> int:
    """How long a text is in UTF-16, as most vendors count: an emoji is two, and nobody counts fewer of anything."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def shortened(text: str, most: int) -> str:
    """A text within so many UTF-16 units, cut at its end; no character is cut in two."""
    if units(text) <= most:
        return text
    # What is left of half a character at the end goes.
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (most - 1)].decode("utf-16-le", "ignore")
    return kept.rstrip(" \u200c\u200d") + "…"


def _joins(found: re.Match[str]) -> bool:
    before, after = (
        found.string[found.start() - 1 : found.start()],
        found.string[found.end() : found.end() + 1],
    )
    return all(side > "\x7f" and unicodedata.category(side) in _JOINABLE for side in (before, after))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _columns(character: str) -> int:
    if character < "\x7f":
        return 1
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
