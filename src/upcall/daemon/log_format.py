"""The format of the daemon's log: one line for each event. Text from callers can neither begin a line nor move the cursor."""

import logging
import re
import unicodedata

from typing_extensions import override

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
INDENT = "    | "
"""Begins every further line of an event, such as those of a traceback."""

_CLEAN = re.compile(r"[ -~]*")


class SafeFormatter(logging.Formatter):
    """Writes control, format and line-breaking characters by their numbers."""

    def __init__(self) -> None:
        super().__init__(FORMAT)

    @override
    def format(self, record: logging.LogRecord) -> str:
        """One event."""
        record.message = record.getMessage()
        record.asctime = self.formatTime(record, self.datefmt)
        lines = [escaped(self.formatMessage(record))]
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        for more in (record.exc_text, self.formatStack(record.stack_info) if record.stack_info else None):
            if more:
                lines += [INDENT + escaped(line) for line in more.split("\n")]
        return "\n".join(lines)


def escaped(text: str) -> str:
    """Text on one line, with control characters written as escapes."""
    if _CLEAN.fullmatch(text):
        return text
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    match unicodedata.category(character):
        case "Cc" | "Cf" | "Cs" | "Co" | "Cn" | "Zl" | "Zp":
            return character.encode("unicode_escape", "surrogatepass").decode("ascii")
        case _:
            return character


def install(level: str) -> None:
    """Write the logs of all libraries to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(SafeFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Warnings of Python and its libraries go the same way.
    logging.captureWarnings(capture=True)
