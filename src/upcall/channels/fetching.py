"""Reads what a vendor sends up to a limit, so that no file fills the memory."""

from collections.abc import AsyncIterator


async def first_bytes(chunks: AsyncIterator[bytes], most: int) -> bytes:
    """All that comes; where that is more than `most` bytes, what had come by then."""
    content = bytearray()
    async for chunk in chunks:
        content += chunk
        if len(content) > most:
            break
    return bytes(content)
