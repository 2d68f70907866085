"""Unicode normalisation that takes time in proportion to the text.

The standard library sorts the combining marks after a character in the square of their number: a hundred thousand of these
take many seconds. Here a text is normalised in short pieces. Pieces end where no character joins the one before it, unless
a run of other characters is longer than any writing needs.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

# No ASCII character joins the one before it.
_PIECE = re.compile(r"[\x00-\x7f]++[^\x00-\x7f]{0,128}+|[^\x00-\x7f]{1,128}+")

Form = Literal["NFC", "NFKC"]


def normalized(form: Form, text: str) -> str:
    """The text in a normal form."""
    return text if text.isascii() else "".join(_pieces(form, text))


def _pieces(form: Form, text: str) -> Iterator[str]:
    for piece in _PIECE.finditer(text):
        yield unicodedata.normalize(form, piece[0])
