"""Files that people send in a channel: fetched from the vendor, and held against the rules that the inbox has too."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from upcall.domain.answer.files import LARGEST_FILE, MOST_FILES, answer_file
from upcall.domain.channel.showing import SentFile
from upcall.domain.errors import UnusableFile
from upcall.domain.inquiry.uploads import Upload
from upcall.domain.text.display import one_line
from upcall.ports.channel import Channel, Fetches, Refused, Unavailable
from upcall.ports.unhurried import unhurried

FETCH_SECONDS = 60.0
"""How long all files of one message may take."""

LONGEST_NAME = 80

log = logging.getLogger("upcall.dispatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenFiles:
    """The files that count, and a sentence for the person about each of the others."""

    uploads: tuple[Upload, ...] = ()
    refused: tuple[str, ...] = ()


class _NotTakenError(Exception):
    """A file is not taken; the name of the reason is that of a sentence."""


async def take_files(channel: Channel, files: Sequence[SentFile], words: Mapping[str, str]) -> TakenFiles:
    """Fetch and check each file. One that is not taken keeps no other from being taken."""
    uploads: list[Upload] = []
    refused: list[str] = []
    deadline = asyncio.get_running_loop().time() + FETCH_SECONDS
    for file in files:
        try:
            if len(uploads) == MOST_FILES:
                raise _NotTakenError("file.many")
            uploads.append(await _upload(channel, file, deadline))
        except _NotTakenError as problem:
            why = words[str(problem)].format(most=MOST_FILES, mebibytes=LARGEST_FILE // 1024**2)
            refused.append(words["file.refused"].format(name=one_line(file.name, LONGEST_NAME), why=why))
    return TakenFiles(uploads=tuple(uploads), refused=tuple(refused))


async def _upload(channel: Channel, file: SentFile, deadline: float) -> Upload:
    if (file.size or 0) > LARGEST_FILE:
        raise _NotTakenError("file.large")
    content = file.content if file.content is not None else await _fetched(channel, file, deadline)
    if len(content) > LARGEST_FILE:
        raise _NotTakenError("file.large")
    try:
        return await unhurried(len(content), lambda: answer_file(file.name, content))
    except UnusableFile as error:
        raise _NotTakenError("file.type") from error


async def _fetched(channel: Channel, file: SentFile, deadline: float) -> bytes:
    if not file.at or not isinstance(channel, Fetches):
        raise _NotTakenError("file.type" if isinstance(channel, Fetches) else "file.here")
    try:
        async with asyncio.timeout_at(deadline):
            return await channel.fetch(file, LARGEST_FILE)
    except (Refused, Unavailable, TimeoutError) as problem:
        log.warning("a file that a person sent could not be fetched: %r", problem)
        raise _NotTakenError("file.unreachable") from problem
