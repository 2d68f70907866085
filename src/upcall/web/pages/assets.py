"""Scripts, style and icons: read once, sent with what lets a browser keep them."""

import hashlib
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from starlette.responses import Response

from upcall.http.errors import NotFound
from upcall.web.pages.packing import packed_script, packed_style
from upcall.web.pages.visit import Visit

TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}

PACKED = {"css": packed_style, "js": packed_script}


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
            content = file.read_bytes()
            if ending in PACKED:
                content = PACKED[ending](content.decode()).encode()
            found[file.name] = Asset(content, TYPES[ending], f'"{hashlib.sha256(content).hexdigest()[:20]}"')
    return found


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
