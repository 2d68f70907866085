"""Fetches files that people send to the bot."""

from contextlib import aclosing

import aiohttp
from aiogram import Bot

from upcall.channels.fetching import first_bytes
from upcall.ports.channel import Refused, Unavailable


async def fetched(bot: Bot, path: str, most: int, seconds: int) -> bytes:
    """The content of a file at a path that Telegram has named; of a larger one, just more than `most` bytes.

    Raises:
        Refused: if Telegram has named none.
        Unavailable: if it cannot be fetched now.
    """
    if not path:
        raise Refused("Telegram does not say where the file is")
    address = bot.session.api.file_url(bot.token, path)
    try:
        async with aclosing(bot.session.stream_content(address, timeout=seconds)) as chunks:
            return await first_bytes(chunks, most)
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        # The address holds the token: the error, which may hold the address, is not passed on.
        raise Unavailable(f"Telegram does not send the file: {type(error).__name__}") from None
