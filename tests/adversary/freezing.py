"""What an agent sends to keep the daemon busy: each is a JSON body, written once, before anything is measured.

New finds are added here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence

MARKS = "\u0316\u0301" * 50_000
SHOWN = 500 * 1024


def _bash(command: str) -> Mapping[str, object]:
    return {"action": {"tool": "Bash", "input": {"command": command}, "cwd": "/repo"}}


def _edit(old: Sequence[str], new: Sequence[str]) -> Mapping[str, object]:
    change = {"file_path": "a", "old_string": "\n".join(old), "new_string": "\n".join(new)}
    return {"action": {"tool": "Edit", "input": change, "cwd": "/repo"}}


def _repeated(piece: str) -> str:
    return piece * (SHOWN // len(piece))


def _steps(count: int) -> Mapping[str, object]:
    steps = [{"old_string": "a\nb\n" * 20, "new_string": "b\nc\na\n" * 13}] * count
    return {"action": {"tool": "MultiEdit", "input": {"file_path": "a", "edits": steps}, "cwd": "/repo"}}


def _fields(count: int) -> bytes:
    return b"{" + b",".join(b'"%06d":0' % number for number in range(count)) + b"}"


_ASKED: Mapping[str, Mapping[str, object]] = {
    "an action of 5.8 MB": _bash("x" * 5_800_000),
    "an action of 5.8 MB that looks like secrets": _bash("password=a1b2c3d4 " * 320_000),
    "an action of combining marks": _bash(MARKS),
    "an action of every character": _bash("".join(map(chr, range(0x100, 0xD800)))),
    "an action of variation selectors": _bash("\ufe0f" * 150_000),
    "assignments": _bash(_repeated("password=a1b2c3d4 ")),
    "names without values": _bash(_repeated("token=")),
    "tokens": _bash(_repeated("ghp_" + "a" * 36 + " ")),
    "beginnings of tokens": _bash(_repeated("eyJaaaaaaaaaa.")),
    "beginnings of keys": _bash(_repeated("-----BEGIN PRIVATE KEY-----")),
    "addresses": _bash(_repeated("://a:b1")),
    "open quotes": _bash(_repeated("password=\"a'")),
    "words of a command": _bash(_repeated("a ")),
    "1 000 lines against 1 000 lines": _edit(
        [f"line {n % 7}" for n in range(1000)], [f"line {n % 5}" for n in range(1000)]
    ),
    "40 000 lines against 40 000 lines": _edit(["a", "b"] * 20_000, ["b", "c", "a"] * 13_000),
    "200 lines against 200 lines": _edit(["a", "b"] * 50, ["b", "a", "c"] * 33),
    "2 000 small edits": _steps(2_000),
    "a deep input": {"action": {"tool": "T", "input": {"a": [[[[{}]]]] * 20_000}, "cwd": "/repo"}},
    "a long diff": {"action": {"tool": "Edit", "input": {"diff": _repeated("+x\n")}, "cwd": "/repo"}},
    "emphasis": {"question": "Q?", "context": "*a " * 5_000},
    "emphasis in emphasis": {"question": "Q?", "context": "_a*" * 5_000},
    "strikes": {"question": "Q?", "context": "~~a" * 5_000},
    "angles": {"question": "Q?", "context": "<" * 16_000},
    "entities": {"question": "Q?", "context": "&" * 16_000},
    "ticks": {"question": "Q?", "context": "".join("`" * n + " " for n in range(170))},
    "quotations": {"question": "Q?", "context": "> " * 8_000},
    "a context of marks": {"question": "Q?", "context": "\u0316\u0301" * 4_000},
    "code": {"question": "Q?", "context": "```python\n" + "'\"" * 7_000 + "\n```"},
    "previews": {
        "questions": [
            {
                "question": f"password=a1 {'x ' * 900}",
                "options": [{"label": str(n), "preview": "ghp_eyJ sk- " * 330} for n in range(10)],
            }
        ]
        * 4
    },
    "labels of marks": {"question": "Q?", "options": ["\u0316\u0301" * 37, "\u0301\u0316" * 37]},
}

BODIES: Mapping[str, bytes] = {
    **{name: json.dumps(body).encode() for name, body in _ASKED.items()},
    "two million empty lists": b'{"question": [' + b"[]," * 2_000_000 + b"0]}",
    "300 000 empty objects": b'{"question": [' + b'{"a":{}},' * 300_000 + b"0]}",
    "380 000 fields": b'{"question": ' + _fields(380_000) + b"}",
    "two million numbers": b'{"question": [' + b"0," * 2_000_000 + b"0]}",
    "marks as they are": b'{"question": "' + MARKS.encode() + b'"}',
}

SEARCHES = ("password", "line", "e\u0301" * 2_000, MARKS[:4_000], "a " * 2_000)

NATIVE_QUESTIONS: Mapping[str, object] = {
    "8 000 questions": [{"question": f"Q{n}?", "options": ["a", "b"]} for n in range(8_000)],
    "8 000 options": [{"question": "Q?", "options": [{"label": str(n)} for n in range(8_000)]}],
    "a question of 5 MB": [{"question": "password=a1b2 " * 360_000, "options": ["a", "b"]}],
    "900 000 numbers": [0] * 900_000,
    "labels of marks": [{"question": "Q?", "options": [{"label": MARKS}, {"label": MARKS + "x"}]}],
    "a million characters of secrets": [{"question": "password=a1b2c3d4 " * 55_000, "options": ["a", "b"]}],
}

INPUTS: Mapping[str, Mapping[str, object]] = {
    "a text of 5 MB": {"command": "x" * 5_000_000},
    "half a million numbers": {"numbers": [0] * 500_000},
    "250 000 numbers": {"numbers": [0] * 250_000},
    "50 000 objects": {"objects": [{"a": 1}] * 50_000},
    "50 000 fields": {f"field {n}": n for n in range(50_000)},
}
"""What a tool is given."""


def _message(arguments: bytes, meta: bytes = b"0") -> bytes:
    """A message of MCP; `meta` is a value inside `_meta`."""
    envelope = (
        b'{"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
        b'"io.modelcontextprotocol/clientCapabilities": {}, "x": ' + meta + b"}"
    )
    params = b'{"name": "ask_human", "arguments": ' + arguments + b', "_meta": ' + envelope + b"}"
    return b'{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": ' + params + b"}"


def _values(size: int) -> Mapping[str, bytes]:
    """JSON that is slow to read, to check, to show in an error or to write again, of up to `size` bytes."""
    return {
        "empty lists": b"[" + b"[]," * (size // 3) + b"0]",
        "as many lists as are read": b"[" + b"[]," * 99_000 + b"0]",
        "as many objects as are read": b"[" + b'{"a":0},' * 99_000 + b"0]",
        "as many numbers as are read": b"[" + b"0," * (size // 4) + b"0]",
        "texts": b"[" + b'"",' * (size // 4) + b"0]",
        "fields": _fields(size // 11),
        "as many fields as are read": _fields(99_000),
        "one text": b'"' + b"x" * size + b'"',
        "one text of marks": b'"' + b"\\u0316" * (size // 6) + b'"',
        "one text of quotes": b'"' + b'\\"' * (size // 2) + b'"',
        "a text that is JSON": b'"[' + b"[]," * (size // 3) + b'0]"',
    }


def messages(largest: int) -> Iterator[tuple[str, bytes]]:
    """Bodies of `POST /mcp`, of the older transport and of `POST /v1/pipe`: the SDK or our own reader parses them."""
    for name, value in _values(largest - 1_000).items():
        yield f"{name} as a question", _message(b'{"question": ' + value + b"}")
        yield f"{name} as an agent", _message(b'{"question": "Q?", "agent_id": ' + value + b"}")
        yield f"{name} in _meta", _message(b"{}", value)
        yield f"{name} instead of a message", value


def _task(**fields: bytes) -> bytes:
    """A task of the file door, in a file named for the request `r1`."""
    task = {"type": b'"ask_user"', "request_id": b'"r1"', "questions": b'[{"question": "Q?"}]', **fields}
    return b"{" + b",".join(b'"%s": %s' % (name.encode(), value) for name, value in task.items()) + b"}"


def tasks() -> Iterator[tuple[str, bytes]]:
    """Files in a group's folder, one after the other: together they are half a gigabyte."""
    for name, value in _values(3_900_000).items():
        for field in ("type", "request_id", "questions", "session", "timeout", "agent_id"):
            yield f"{name} as {field}", _task(**{field: value})
        yield f"{name} as id", _task(type=b'"wait"', id=value)
        yield f"{name} as message", _task(type=b'"notify"', message=value)
        yield f"{name} as evidence", _task(type=b'"collected"', id=b'"a1"', evidence=value)
        yield f"{name} as a task", value
