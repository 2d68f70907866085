"""The pictures of an answer as MCP content, for the clients that show them to their models."""

import base64
from dataclasses import dataclass

from upcall.broker.answer_files import AnswerFiles
from upcall.domain.answer.files import SHOWN
from upcall.domain.inquiry.inquiry import Answered, Inquiry

SHOWING = frozenset({"claude-code", "codex", "gemini-cli"})
"""The clients that put the pictures of a tool's result before their model: measured with each program. opencode does not."""

MOST_SHOWN = 3 * 1024 * 1024
"""Bytes of all pictures of one result: models' services refuse larger ones, and with them the whole conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture in base 64."""

    media_type: str
    data: str

    def document(self) -> dict[str, object]:
        """The picture as `ImageContent`."""
        return {"type": "image", "data": self.data, "mimeType": self.media_type}


async def pictures(inquiry: Inquiry, client: str, files: AnswerFiles) -> tuple[Picture, ...]:
    """The pictures of an answer, as far as its client shows them. Each of them is a file besides."""
    state = inquiry.state
    if not isinstance(state, Answered) or not state.answer.files or client not in SHOWING:
        return ()
    found: list[Picture] = []
    left = MOST_SHOWN
    for number, file in enumerate(state.answer.files):
        if file.media_type in SHOWN and file.size <= left:
            left -= file.size
            data = base64.b64encode(await files.content(inquiry, number)).decode("ascii")
            found.append(Picture(media_type=file.media_type, data=data))
    return tuple(found)
