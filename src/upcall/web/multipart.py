"""Forms that bring files, as browsers send them."""

from collections.abc import AsyncGenerator

from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.types import Scope

MOST_FIELDS, MOST_FILES = 200, 50
LARGEST_FIELD = 1024 * 1024


async def read_parts(scope: Scope, raw: bytes) -> tuple[dict[str, list[str]], list[tuple[str, bytes]]]:
    """The fields of a form, and its files with their names.

    Raises:
        ValueError: if it is no such form, or has too many fields.
    """
    parser = MultiPartParser(
        Headers(scope=scope),
        _whole(raw),
        max_files=MOST_FILES,
        max_fields=MOST_FIELDS,
        max_part_size=LARGEST_FIELD,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as problem:
        raise ValueError(str(problem)) from None
    fields: dict[str, list[str]] = {}
    files: list[tuple[str, bytes]] = []
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            content = await value.read()
            # A field that was left empty is sent, too, as a file without a name.
            files += [(value.filename or "file", content)] if value.filename or content else []
        else:
            fields.setdefault(name, []).append(value)
    await form.close()
    return fields, files


async def _whole(raw: bytes) -> AsyncGenerator[bytes, None]:
    yield raw
