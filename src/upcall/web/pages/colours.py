"""The colours of those who ask."""

from zlib import crc32

HUES = 8


def hue(name: str) -> int:
    """The number of the colour that a name always gets."""
    return crc32(name.encode("utf-8", "replace")) % HUES
