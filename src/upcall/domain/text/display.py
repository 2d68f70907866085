"""Text that is safe to show: nothing in it moves the cursor, reorders what is read or hides.

`visible` leaves such characters out, `escaped` shows them, for where a person approves exactly what they see. `inert` is for
services that look for names and addresses in any text and offer no way to tell them not to.
"""

import re
import unicodedata

from upcall.domain.text.invisible import is_blank_glyph, is_hidden

# Patterns stand as text: `re` compiles and keeps one at its first use, and most commands that show a line need none of them.
_ANSI = (
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*+(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*+\x1b\\"  # device control and other strings
    r"|\x1b[ -/]*+[0-~]"  # the short ones
)
_LINE_ENDS = frozenset("\r\x0b\x0c\x85\u2028\u2029")
_JOINER = r"[\u200c\u200d]"
_LOOKED_FOR = (
    r"(?<=:)(?=//)"  # https://evil.example
    r"|(?<=[^\W_]\.)(?=[^\W_])"  # evil.example, which is a link without any scheme as well
    r"|(?<=[@#$~!])(?!(?<=#)\d++(?!\w))(?=[\w(\[])"  # @channel, #tag, $TAG, ~channel, ![image]; a number is no tag
    r"|(?<=\])(?=[(\[:])"  # [words](address), [words][name]
    r"|(?<=<)(?=[^\s])"  # <!channel>, <@U1>, <https://evil.example|words>
    r"|(?<=[A-Za-z]:)(?=[\w+])"  # mailto:, tel:
    r"|(?<![\w/.]/)(?<=/)(?=[A-Za-z])"  # /command
)
_BREAK = "\u200b"
_JOINABLE = frozenset({"Ll", "Lu", "Lo", "Lm", "Mn", "Mc", "So", "Sk"})
_SELECTOR = r"[\ufe00-\ufe0f]"
_SELECTABLE = frozenset({"Lo", "Po", "Pd", "Sm", "So", "Sk"})
_KEYCAP = "\N{COMBINING ENCLOSING KEYCAP}"
_SHAPING = frozenset(map(chr, (0x200C, 0x200D, *range(0xFE00, 0xFE10))))
"""The joiners and selectors that change how the characters beside them are drawn."""


def visible(text: str) -> str:
    """The text without control characters (newline and tab stay), terminal escapes and invisible characters.

    The two joiners U+200C and U+200D stay between characters that can need them: letters of scripts such as
    Persian and parts of an emoji. Next to ASCII, or to each other, they only hide and go. A variation selector stays
    after a symbol that it selects the look of.
    """
    if text.isascii() and text.isprintable():
        return text
    if "\x1b" in text or "\x9b" in text:
        text = re.sub(_ANSI, "", text)
    text = text.replace("\r\n", "\n")
    present = set(text)
    for end in present & _LINE_ENDS:
        text = text.replace(end, "\n")
    hidden = {character for character in present - _LINE_ENDS if is_hidden(character)}
    if not hidden:
        return text
    text = text.translate({ord(character): _instead(character) for character in hidden - _SHAPING})
    text = re.sub(_SELECTOR, lambda found: found[0] if _selects(found) else "", text)
    return re.sub(_JOINER, lambda found: found[0] if _joins(found) else "", text)


def escaped(text: str) -> str:
    """The text with each character that is invisible, or looks like a plain blank, written out by its number.

    A character that this version of Unicode does not know may be drawn as nothing, and is written out as well.
    """
    if text.isascii() and text.isprintable():
        return text
    odd = {
        character
        for character in set(text)
        if is_hidden(character) or is_blank_glyph(character) or unicodedata.category(character) == "Cn"
    }
    return text.translate({ord(character): _escape(character) for character in odd}) if odd else text


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
    return re.sub(_LOOKED_FOR, _BREAK, text)


def units(text: str) -> int:
    """How long a text is in UTF-16, as most vendors count: an emoji is two, and no vendor counts fewer."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def shortened(text: str, most: int) -> str:
    """A text within so many UTF-16 units, cut at its end; no character is cut in two."""
    if units(text) <= most:
        return text
    # What is left of half a character at the end goes.
    kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (most - 1)].decode("utf-16-le", "ignore")
    return kept.rstrip(" \u200c\u200d") + "…"


def _instead(hidden: str) -> str | None:
    # Half a character is a fault of the sender's encoding, which is shown; all others go.
    return "\N{REPLACEMENT CHARACTER}" if "\ud800" <= hidden <= "\udfff" else None


def _joins(found: re.Match[str]) -> bool:
    before, after = (
        found.string[found.start() - 1 : found.start()],
        found.string[found.end() : found.end() + 1],
    )
    return all(side > "\x7f" and unicodedata.category(side) in _JOINABLE for side in (before, after))


def _selects(found: re.Match[str]) -> bool:
    at = found.start()
    base = found.string[at - 1 : at]
    if base in {"", *_SHAPING}:
        return False
    if base in "0123456789#*":
        return found.string[at + 1 : at + 2] == _KEYCAP
    return base > "\x7f" and unicodedata.category(base) in _SELECTABLE


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _columns(character: str) -> int:
    if character < "\x7f":
        return 1
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
