"""Copies of the files of an answer, for agents that cannot be shown them: written when the answer is told, mode 600."""

import asyncio
import logging
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import ANSWER_FILES, Answered, Attachment, Inquiry
from upcall.ports.store import Store

log = logging.getLogger("upcall.files")

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
LONGEST_NAME = 80


class AnswerFiles:
    """Writes the copies of one daemon; `folder` says where those of an inquiry belong, None writes none."""

    def __init__(self, store: Store, folder: Callable[[Inquiry], Path] | None = None) -> None:
        self._store = store
        self._folder = folder

    async def laid_out(self, inquiry: Inquiry) -> Inquiry:
        """The inquiry, each file of its answer with the path of its copy."""
        state = inquiry.state
        if self._folder is None or not isinstance(state, Answered) or not state.answer.files:
            return inquiry
        folder = self._folder(inquiry)
        files = tuple(
            [await self._copied(inquiry, at, file, folder) for at, file in enumerate(state.answer.files)]
        )
        return replace(inquiry, state=replace(state, answer=replace(state.answer, files=files)))

    async def each_laid_out(self, inquiries: Sequence[Inquiry]) -> list[Inquiry]:
        """The same for several."""
        return [await self.laid_out(inquiry) for inquiry in inquiries]

    async def content(self, inquiry: Inquiry, number: int) -> bytes:
        """The bytes of a file of the answer."""
        return await self._store.attachment(inquiry.id, ANSWER_FILES + number)

    async def _copied(self, inquiry: Inquiry, number: int, file: Attachment, folder: Path) -> Attachment:
        path = folder / f"{number + 1}-{safe_name(file.name)}"
        try:
            content = await self.content(inquiry, number)
            await asyncio.to_thread(_write, path, content)
        except (OSError, UpcallError):
            # The answer itself is told in any case.
            log.exception("the file %s of the answer to %s cannot be written", path.name, inquiry.ref)
            return replace(file, path=f"{safe_name(file.name)}, which could not be written")
        return replace(file, path=str(path))


def safe_name(name: str) -> str:
    """A name for a file system, without anything that a shell or a path would take for something else."""
    stem = _UNSAFE.sub("-", name).strip(".-")
    return stem[-LONGEST_NAME:].lstrip(".-") or "file"


async def forget_copies(folder: Path, before: float) -> int:
    """Remove the copies that were written before; how many answers they belonged to."""
    return await asyncio.to_thread(_forget, folder, before)


def _write(path: Path, content: bytes) -> None:
    if path.exists() and path.stat().st_size == len(content):
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}")
    unfinished.unlink(missing_ok=True)
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    unfinished.replace(path)


def _forget(folder: Path, before: float) -> int:
    old = [path for path in folder.glob("*") if path.stat().st_mtime < before]
    for path in old:
        shutil.rmtree(path)
    return len(old)
