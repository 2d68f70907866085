"""The formats of the daemon's log, text and JSON. Text from callers can neither begin a line nor move the cursor."""

import json
import logging
import re
import unicodedata
from datetime import datetime

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


class JsonFormatter(logging.Formatter):
    """Writes one object on one line, in ASCII: a reader that collects lines needs no other rule."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        """One event."""
        moment = datetime.fromtimestamp(record.created).astimezone()
        fields = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = self.formatStack(record.stack_info)
        return json.dumps(fields)


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


def install(level: str, *, as_json: bool = False) -> None:
    """Write the logs of all libraries to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter() if as_json else SafeFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Warnings of Python and its libraries go the same way.
    logging.captureWarnings(capture=True)
