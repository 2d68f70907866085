"""Files that a person sends with an answer. What a file is, its bytes say; its name and what a browser claims do not count."""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import cast

from upcall.domain.errors import UnusableFile
from upcall.domain.inquiry.inquiry import Attachment
from upcall.domain.inquiry.uploads import NAME_LENGTH, Upload, last_part

MOST_FILES = 4
LARGEST_FILE = 5 * 1024 * 1024
SHOWN = frozenset({"image/png", "image/jpeg", "image/webp"})
"""The pictures that the models of all measured programs can look at."""

ACCEPTED = "image/png,image/jpeg,image/gif,image/webp,application/pdf,.zip,text/plain,.md,.log,.json,.csv,.diff,.patch"
"""What a browser offers to choose; what is taken, the bytes decide."""

EXAMPLE = 'for example [{"name": "screen.png", "data": "iVBORw0KGgo…"}] with base 64 data'
_MARKS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
)
# The beginnings of pages and of drawings with scripts: a browser runs them from anywhere in the first bytes of a text.
_MARKUP = re.compile(
    r"<(?:!doctype\s+html|(?:[a-z]+:)?(?:html|svg|script|head|body|iframe|object|embed))\b", re.IGNORECASE
)
_ACTIVE_NAME = re.compile(r"\.(?:s?html?|xhtml?|xht|svgz?|mht(?:ml)?|hta)$", re.IGNORECASE)
_SNIFFED = 4096


def answer_file(name: str, content: bytes) -> Upload:
    """One file, with the type that its bytes have.

    Raises:
        UnusableFile: if it is too large, empty, or of no type that is taken.
    """
    name = last_part(name[:NAME_LENGTH])
    if len(content) > LARGEST_FILE:
        raise UnusableFile(name, f"at most {LARGEST_FILE} bytes, got {len(content)}")
    found = "" if _ACTIVE_NAME.search(name) else sniffed(content)
    if not found:
        raise UnusableFile(name, "no picture (PNG, JPEG, GIF, WebP), PDF, ZIP or plain text")
    kept = Attachment(
        name=name, media_type=found, size=len(content), digest=hashlib.sha256(content).hexdigest()
    )
    return Upload(attachment=kept, content=content)


def few(files: Sequence[Upload]) -> tuple[Upload, ...]:
    """The same files.

    Raises:
        UnusableFile: if there are too many.
    """
    if len(files) > MOST_FILES:
        raise UnusableFile("files", f"at most {MOST_FILES}, got {len(files)}")
    return tuple(files)


def files_in(sent: object) -> tuple[Upload, ...]:
    """The files of an answer that came as JSON.

    Raises:
        UnusableFile: if one cannot be taken.
    """
    if sent is None:
        return ()
    if not isinstance(sent, list):
        raise UnusableFile("files", "a list", hint=EXAMPLE)
    items = cast("list[object]", sent)
    if len(items) > MOST_FILES:
        raise UnusableFile("files", f"at most {MOST_FILES}, got {len(items)}")
    return tuple(_decoded(item, f"files[{number}]") for number, item in enumerate(items))


def sniffed(content: bytes) -> str:
    """The type of a file by its bytes; empty for one that is not taken."""
    for mark, kind in _MARKS:
        if content.startswith(mark):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return "text/plain" if _is_plain(content) else ""


def _is_plain(content: bytes) -> bool:
    """Whether it is text without markup that a browser would run."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    if not text.strip() or any(letter < " " and letter not in "\t\n\r\f\x1b" for letter in text[:_SNIFFED]):
        return False
    start = text[:_SNIFFED].lstrip()
    return "\0" not in text and not (start.startswith("<") and _MARKUP.search(start))


def _decoded(sent: object, path: str) -> Upload:
    fields = cast("Mapping[str, object]", sent) if isinstance(sent, Mapping) else {}
    name, data = fields.get("name"), fields.get("data")
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH or not isinstance(data, str):
        raise UnusableFile(path, "a name and base 64 data", hint=EXAMPLE)
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise UnusableFile(f"{path}.data", "base 64 text", hint=EXAMPLE) from None
    return answer_file(name, content)
