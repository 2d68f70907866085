"""Scripts, style and icons: read once, sent with what lets a browser keep them."""

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from upcall.http.errors import NotFound
from upcall.web.pages.visit import Visit

TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}

PACKED = ("css", "js")
_CSS_SPACE = re.compile(r"\s*([{};>])\s*|(?<=[:,])\s+")
_JS_SPACE = re.compile(r" *(=>|[=!]==|&&|\|\||[=,:{};]) *")
# What could be inside a template, a regular expression or a text of another kind is left as it is.
_UNSURE = re.compile(r"[`'/\\]")
_COMMENT = re.compile(r"//.*|/\*(?:(?!\*/).)*\*/")


class Asset(NamedTuple):
    """One file."""

    content: bytes
    media_type: str
    etag: str


@lru_cache(maxsize=1)
def assets() -> dict[str, Asset]:
    """Every file that is served as it is, by name."""
    found: dict[str, Asset] = {}
    for file in files("upcall.web").joinpath("static").iterdir():
        ending = file.name.rpartition(".")[2]
        if ending in TYPES:
            content = _packed(file.read_bytes(), ending) if ending in PACKED else file.read_bytes()
            found[file.name] = Asset(content, TYPES[ending], f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return found


def _packed(source: bytes, ending: str) -> bytes:
    """Without what is for readers of the source: indentation, lines that are a comment, and spaces beside signs."""
    lines = (line.strip() for line in source.decode().splitlines())
    kept = [line for line in lines if line and not _COMMENT.fullmatch(line)]
    if ending == "js":
        return "\n".join(line if _UNSURE.search(line) else _tight(line) for line in kept).encode()
    packed = "\n".join(kept)
    return _CSS_SPACE.sub(r"\1", packed).replace(";}", "}").encode()


def _tight(line: str) -> str:
    parts = line.split('"')
    # Every second part is a text.
    parts[::2] = [_JS_SPACE.sub(r"\1", part) for part in parts[::2]]
    return '"'.join(parts)


async def service_worker(visit: Visit) -> Response:
    """The script that a browser keeps; from the root, since it may act only below where it comes from."""
    asset = assets()["service-worker.js"]
    return Response(asset.content, headers={"Cache-Control": "no-cache"}, media_type=asset.media_type)


async def serve(visit: Visit) -> Response:
    """One asset by its name; nothing is looked up on disk."""
    asset = assets().get(visit.name)
    if asset is None:
        raise NotFound("there is no such file")
    headers = {"ETag": asset.etag, "Cache-Control": "no-cache"}
    if visit.header(b"if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers, media_type=asset.media_type)
