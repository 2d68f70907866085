"""Files sent along with a question: a name, a type and their bytes in base 64."""

import base64
import binascii
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from upcall.domain.errors import InvalidInquiry
from upcall.domain.inquiry.inquiry import Attachment
from upcall.domain.inquiry.limits import Limits

EXAMPLE = 'for example [{"name": "change.diff", "media_type": "text/x-diff", "data": "LS0tIGEK…"}] with base 64 data'
NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """An attachment together with its bytes."""

    attachment: Attachment
    content: bytes


def uploads(sent: object, limits: Limits) -> tuple[Upload, ...]:
    """Read the attachments of a question.

    Raises:
        InvalidInquiry: if there are too many, one is too large or one is not of the right form.
    """
    if sent is None:
        return ()
    if not isinstance(sent, list):
        raise InvalidInquiry("attachments", "a list", hint=EXAMPLE)
    items = cast("Sequence[object]", sent)
    if len(items) > limits.attachments:
        raise InvalidInquiry("attachments", f"at most {limits.attachments}, got {len(items)}")
    return tuple(_upload(item, f"attachments[{number}]", limits) for number, item in enumerate(items))


def last_part(name: str) -> str:
    """A name that is only ever shown, never opened: what looks like a path is cut down to its last part."""
    return name.replace("\\", "/").rsplit("/", 1)[-1] or "file"


def _upload(sent: object, path: str, limits: Limits) -> Upload:
    if not isinstance(sent, Mapping):
        raise InvalidInquiry(path, "an object", hint=EXAMPLE)
    fields = cast("Mapping[str, object]", sent)
    name, data = fields.get("name"), fields.get("data")
    if not isinstance(name, str) or not 1 <= len(name) <= NAME_LENGTH:
        raise InvalidInquiry(f"{path}.name", f"1 to {NAME_LENGTH} characters", hint=EXAMPLE)
    if not isinstance(data, str):
        raise InvalidInquiry(f"{path}.data", "base 64 text", hint=EXAMPLE)
    try:
        content = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInquiry(f"{path}.data", "base 64 text", hint=EXAMPLE) from None
    if len(content) > limits.attachment_bytes:
        raise InvalidInquiry(f"{path}.data", f"at most {limits.attachment_bytes} bytes, got {len(content)}")
    attachment = Attachment(
        name=last_part(name),
        media_type=str(fields.get("media_type") or "application/octet-stream")[:100],
        size=len(content),
        digest=hashlib.sha256(content).hexdigest(),
    )
    return Upload(attachment=attachment, content=content)
