"""Writes the generated parts of the reference: `python -m docs.reference`.

`docs/api-reference.md` comes from the OpenAPI document, and `docs/client-reference.md` from the client's docstrings. In the tables of settings and errors, keys, variables, defaults, codes
and statuses come from the code; what they mean is written by hand, and kept.
"""
# ruff: noqa: INP001 - a script beside the pages, not a package

import importlib
import pkgutil
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import upcall
from docs import client_reference
from upcall.config.channels import channel_keys, route_keys
from upcall.config.settings import agent_keys, keys
from upcall.domain.errors import InvalidRequest, UpcallError
from upcall.domain.inquiry.wording import duration
from upcall.http.errors import STATUSES
from upcall.web.api.openapi import openapi

FOLDER = Path(__file__).parent
API = FOLDER / "api-reference.md"
SETTINGS = FOLDER / "configuration.md"
ERRORS = FOLDER / "errors.md"
MISSING = "**not described yet**"

WRITTEN_BY = """\
Written by `python -m docs.reference` from the document that a daemon serves at `/v1/openapi.json`; do not edit.
[The API by example](api.md) explains how the requests belong together."""
NEEDED = """\
Each needs `Authorization: Bearer TOKEN`, unless it says otherwise. An error is
`{"error": {"code", "message", "hint"}}`; [Errors](errors.md) has the codes."""

Row = Sequence[str]


def api() -> str:
    """The page of every request."""
    document = cast("Mapping[str, Any]", openapi(""))
    parts = [
        "# Every request",
        WRITTEN_BY,
        NEEDED,
    ]
    tags: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            lines = tags.setdefault(operation["tags"][0], [])
            lines.extend(_operation(method, path, operation))
    for tag, lines in tags.items():
        parts += [f"## {tag[:1].upper()}{tag[1:]}", *lines]
    parts.append("## Objects")
    for name, schema in document["components"]["schemas"].items():
        parts += [f"### {name}", *_object(schema)]
    return "\n\n".join(parts) + "\n"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    open_to_all = " No token is needed." if operation.get("security") == [] else ""
    yield f"{operation['summary'].rstrip('.')}.{open_to_all}"
    rows = [
        (f"`{each['name']}`", each["in"], _kind(each["schema"]), each.get("description", ""))
        for each in operation.get("parameters", [])
    ]
    if rows:
        yield _table(("parameter", "in", "type", "means"), rows)
    body = operation.get("requestBody", {}).get("content", {})
    for kind, content in body.items():
        yield f"Body, `{kind}`: {_kind(content['schema'])}"
    replies = [
        (status, reply.get("description", ""), _content(reply))
        for status, reply in operation["responses"].items()
        if status != "default"
    ]
    yield _table(("status", "means", "body"), replies)


def _content(reply: Mapping[str, Any]) -> str:
    return "; ".join(_kind(each.get("schema", {})) for each in reply.get("content", {}).values())


def _object(schema: Mapping[str, Any]) -> Iterator[str]:
    if schema.get("description"):
        yield str(schema["description"])
    needed = schema.get("required", [])
    rows = [
        (f"`{name}`{' (required)' if name in needed else ''}", _kind(inner), inner.get("description", ""))
        for name, inner in schema.get("properties", {}).items()
    ]
    yield _table(("field", "type", "means"), rows) if rows else _kind(schema)


def _kind(schema: Mapping[str, Any]) -> str:
    """The type of a value, in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return "one of " + ", ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[several]))
    if "allOf" in schema:
        return " and ".join(_kind(each) for each in schema["allOf"])
    kind = schema.get("type", "any value")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{words} of {_kind(schema['items'])}" if schema.get("items") else words


def settings(text: str) -> str:
    """The page of the settings with its four tables as the code has them."""
    tables: Iterable[tuple[str, list[Row]]] = (
        ("key", [(f"`{key}`", f"`{variable}`", _default(default)) for key, variable, default in keys()]),
        ("setting", [(f"`{key}`", _default(default)) for key, default in agent_keys()]),
        ("of a route", [(f"`{key}`", _default(default)) for key, default in route_keys()]),
        (
            "of a channel",
            [(f"`{kind}`", f"`{key}`", _default(default)) for kind, key, default in channel_keys()],
        ),
    )
    for first, rows in tables:
        text = filled(text, first, rows, named_by=2 if first == "of a channel" else 1)
    return text


def errors(text: str) -> str:
    """The page of the errors with the codes and statuses that there are, in the order of the page."""
    known = {error.code for error in every_error()} | set(STATUSES)
    printed = [code for code in re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) if code in known]
    order = [*printed, *sorted(known - set(printed))]
    rows = [(f"`{code}`", str(STATUSES.get(code, "–"))) for code in order]  # noqa: RUF001 - a dash, as printed
    return filled(text, "code", rows)


def every_error() -> set[type[UpcallError]]:
    """The errors of every module of the package, whether or not anything else has imported it."""
    for module in pkgutil.walk_packages(upcall.__path__, "upcall."):
        # A bridge has no errors of its own, and needs the library of its framework.
        if not module.name.endswith("__main__") and not module.name.startswith("upcall.client.bridges."):
            importlib.import_module(module.name)
    found, new = {UpcallError}, [UpcallError]
    while new:
        new = [each for error in new for each in error.__subclasses__() if each not in found]
        found |= set(new)
    return {error for error in found if error.__module__.startswith("upcall.")}


def filled(text: str, first: str, rows: Sequence[Row], named_by: int = 1) -> str:
    """A page with one table's first columns replaced; the columns that follow are kept for the rows that they belong to."""
    lines = text.split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {first} |")) + 2
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    kept: dict[tuple[str, ...], list[str]] = {}
    width = 0
    for line in lines[start:end]:
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        width = len(cells)
        kept[tuple(cells[:named_by])] = cells
    made = [_kept_row(row, kept.get(tuple(row[:named_by])), width) for row in rows]
    return "\n".join([*lines[:start], *made, *lines[end:]])


def _kept_row(row: Row, before: Sequence[str] | None, width: int) -> str:
    words = before[len(row) :] if before else [MISSING] * (width - len(row))
    if before and _same(before[len(row) - 1], row[-1]):
        row = (*row[:-1], before[len(row) - 1])
    return "|" + "|".join(f" {cell} " if cell else " " for cell in (*row, *words)) + "|"


def _default(value: object) -> str:
    match value:
        case None | "" | () | 0.0 if not isinstance(value, bool | int):
            return ""
        case bool():
            return f"`{str(value).lower()}`"
        case float():
            return f"`{_seconds(value)}`"
        case tuple():
            return f"`{' '.join(map(str, value))}`"
        case _:
            return f"`{value}`"


def _seconds(value: float) -> str:
    for unit, size in (("h", 3600), ("m", 60)):
        if value >= size and value % size == 0:
            return f"{value / size:g}{unit}"
    return f"{value:g}s"


def _same(one: str, other: str) -> bool:
    """Whether two defaults mean the same, such as `2d` and `48h`."""
    try:
        return duration(one.strip("`")) == duration(other.strip("`"))
    except InvalidRequest:
        return False


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    API.write_text(api(), encoding="utf-8")
    client_reference.PAGE.write_text(client_reference.page(), encoding="utf-8")
    SETTINGS.write_text(settings(SETTINGS.read_text("utf-8")), encoding="utf-8")
    ERRORS.write_text(errors(ERRORS.read_text("utf-8")), encoding="utf-8")
    for page in (API, client_reference.PAGE, SETTINGS, ERRORS):
        sys.stdout.write(f"wrote docs/{page.name}\n")
