"""Which characters a person cannot see, as Unicode's own data says it.

The categories come from the interpreter's Unicode database, so that later characters are known with later versions of it.
What the database of the standard library leaves out is listed here as data.
"""

import unicodedata

_IGNORABLE_RANGES = (
    (0x00AD, 0x00AD),
    (0x034F, 0x034F),
    (0x061C, 0x061C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
)
"""`Default_Ignorable_Code_Point` of DerivedCoreProperties.txt: drawn as nothing by a program that does not know them."""

_FIRST_TAG, _LAST_TAG = "\U000e0000", "\U000e0fff"
"""The largest of these ranges, compared with: as a set it would take as long to make as all other modules of the command line."""

_IGNORABLE = frozenset(chr(code) for first, last in _IGNORABLE_RANGES for code in range(first, last + 1))

# Control, format and half characters, and the separators of lines and paragraphs.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})

_DRAWN = frozenset(map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD)))
"""`Prepended_Concatenation_Mark` of PropList.txt: format characters that are drawn around the digits after them."""

_NONCHARACTERS = frozenset(
    map(
        chr,
        (
            *range(0xFDD0, 0xFDF0),
            *(plane + end for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF)),
        ),
    )
)

_EMPTY = frozenset("\u2800\U0001d159\U00016fe4\U00013441\U00013442")
"""Letters, marks and symbols that are drawn as empty space: a blank of Braille, a note without a head, fillers."""


def is_hidden(character: str) -> bool:
    """Whether a character is drawn as nothing or moves others; newline and tab are not among these."""
    if character in "\n\t":
        return False
    if character in _IGNORABLE or character in _NONCHARACTERS or _FIRST_TAG <= character <= _LAST_TAG:
        return True
    return unicodedata.category(character) in _HIDDEN and character not in _DRAWN


def is_blank_glyph(character: str) -> bool:
    """Whether a character looks like a blank and is none that a shell or a parser would take for one."""
    return character != " " and (unicodedata.category(character) == "Zs" or character in _EMPTY)


def without_invisible(text: str) -> str:
    """The text as far as it can be seen: no invisible characters at all, and one blank for each run of white space."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    gone = {ord(character): None for character in set(text) if is_hidden(character)}
    gaps = {ord(character): " " for character in set(text) if is_blank_glyph(character)}
    return " ".join(text.translate({**gone, **gaps}).split())
