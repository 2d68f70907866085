"""From what a terminal sends to the keys that were pressed. Pure: bytes in, names out."""

UP, DOWN, PAGE_UP, PAGE_DOWN = "\0up", "\0down", "\0page up", "\0page down"
ENTER, ESCAPE, BACKSPACE, CLEAR = "\0enter", "\0escape", "\0backspace", "\0clear"
TAB, FIND_KEY = "\0tab", "\0find"
LEFT, RIGHT = "\0left", "\0right"
SPACE = " "

_SEQUENCES = {
    b"\x1b[A": UP,
    b"\x1b[B": DOWN,
    b"\x1b[C": RIGHT,
    b"\x1b[D": LEFT,
    b"\x1bOA": UP,
    b"\x1bOB": DOWN,
    b"\x1bOC": RIGHT,
    b"\x1bOD": LEFT,
    b"\x1b[5~": PAGE_UP,
    b"\x1b[6~": PAGE_DOWN,
    b"\r": ENTER,
    b"\n": ENTER,
    b"\t": TAB,
    b"\x0b": FIND_KEY,
    b"\x7f": BACKSPACE,
    b"\x08": BACKSPACE,
    b"\x15": CLEAR,
    b"\x10": UP,
    b"\x0e": DOWN,
}
_PASTE, _PASTED = b"\x1b[200~", b"\x1b[201~"


def keys(data: bytes) -> tuple[list[str], bytes]:
    """The keys in what was read, and the bytes that are only the beginning of one.

    A key is one of the names above or the text that it types; pasted text is one key.
    """
    found: list[str] = []
    while data:
        if data.startswith(_PASTE):
            text, end, rest = data[len(_PASTE) :].partition(_PASTED)
            if not end:
                return found, data
            found += [pasted] if (pasted := _typed(text)) else []
            data = rest
            continue
        size = _size(data)
        if size == 0:
            return found, data
        key, data = data[:size], data[size:]
        found += [name] if (name := _name(key)) else []
    return found, b""


def _size(data: bytes) -> int:
    """How many bytes the first key has; 0 while it is incomplete."""
    first = data[0]
    if first == 0x1B:
        return _escape_size(data)
    if first < 0xC0:
        return 1
    size = 2 if first < 0xE0 else 3 if first < 0xF0 else 4 if first < 0xF8 else 1
    return size if len(data) >= size else 0


def _escape_size(data: bytes) -> int:
    if data[1:2] == b"O":
        return 3 if len(data) >= 3 else 0
    if data[1:2] != b"[":
        return 1
    for index in range(2, len(data)):
        if 0x40 <= data[index] <= 0x7E:
            return index + 1
    # An escape key and a bracket typed after it never arrive as one; this is a sequence on its way.
    return 0


def _name(key: bytes) -> str:
    if key == b"\x1b":
        return ESCAPE
    # A sequence that is not known is no key at all.
    return _SEQUENCES.get(key) or ("" if key.startswith(b"\x1b") else _typed(key))


def is_text(key: str) -> bool:
    """Whether a key types something."""
    return bool(key) and not key.startswith("\0")


def edited(text: str, key: str) -> str:
    """A line of text after a key."""
    if key == BACKSPACE:
        return text[:-1]
    if key == CLEAR:
        return ""
    return text + key if is_text(key) else text


def _typed(data: bytes) -> str:
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return "".join(character for character in text if character == "\n" or character >= " ")
