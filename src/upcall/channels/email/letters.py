"""Letters as they leave: what is asked as plain text, and the addresses by which a reply is recognised.

What an agent wrote stands behind a bar on every line, so that it cannot look like anything that we say.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, formatdate

from upcall.channels.plain import more
from upcall.domain.channel.showing import Asked, Capabilities, View
from upcall.domain.text.display import inert

CAPABILITIES = Capabilities(edit=False, link=True, caseless=True, letters=True, body=12_000)
"""A letter is answered in words or behind its link. What is longer than this is better read there."""

BAR = "│ "
LOCAL_LENGTH = 20
"""How long an address may be before its @, so that a signature fits behind it: mail has room for 64."""

ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*/=?^_`{|}~+-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_TAG = re.compile(r"([0-9a-z]{20,32})-([a-z2-7]{16})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """The part of a reply address behind the plus sign."""

    inquiry: str
    stamp: str


def bound(inquiry: str, recipient: str) -> str:
    """What a stamp signs: one question and one address."""
    return f"{inquiry}|{recipient.casefold()}"


def letter_name(inquiry: str, recipient: str, domain: str) -> str:
    """The Message-ID of a question's letter, made only of what never changes."""
    mark = hashlib.sha256(bound(inquiry, recipient).encode()).hexdigest()[:16]
    return f"<{inquiry}.{mark}@{domain}>"


def reply_address(own: str, tag: Tag) -> str:
    """The address that a reply goes to."""
    local, _, domain = own.rpartition("@")
    return f"{local}+{tag.inquiry}-{tag.stamp}@{domain}"


def tag_in(address: str, own: str) -> Tag | None:
    """The tag in an address of ours; case does not matter to mail servers."""
    local, _, domain = own.casefold().rpartition("@")
    sent_local, _, sent_domain = address.casefold().rpartition("@")
    head, plus, tag = sent_local.partition("+")
    found = _TAG.fullmatch(tag) if plus and (head, sent_domain) == (local, domain) else None
    return None if found is None else Tag(inquiry=found[1], stamp=found[2])


def letter(
    own: str, to: str, subject: str, text: str, *, name: str, automatic: str = "auto-generated"
) -> EmailMessage:
    """A letter from us, with the headers that keep automatic replies away."""
    message = EmailMessage(policy=SMTP)
    message["From"] = formataddr(("Upcall", own))
    message["To"] = to
    message["Subject"] = one_line(subject)[:200]
    message["Date"] = formatdate(localtime=False)
    message["Message-ID"] = name
    message["Auto-Submitted"] = automatic
    message["X-Auto-Response-Suppress"] = "All"
    message.set_content(text)
    return message


def in_thread(message: EmailMessage, earlier: str) -> EmailMessage:
    """The same letter as a reply to an earlier one."""
    message["In-Reply-To"] = one_line(earlier)[:900]
    message["References"] = one_line(earlier)[:900]
    return message


def one_line(text: str) -> str:
    """Text for a header, without line breaks and control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def question(view: View, words: Mapping[str, str]) -> str:
    """The text of a question's letter."""
    parts = [inert(view.heading)]
    parts += [_asked(each, number, len(view.questions)) for number, each in enumerate(view.questions, 1)]
    parts += [_barred(view.context)] if view.context else []
    parts += [part for part in (inert(view.progress), *more(view)) if part]
    parts += [view.hint] if view.hint else []
    parts += [words["mail.link"].format(link=view.link)] if view.link else []
    return "\n\n".join(parts) + "\n"


def outcome(view: View) -> str:
    """The text of an outcome's letter."""
    asked = [_asked(each, number, len(view.questions)) for number, each in enumerate(view.questions, 1)]
    return "\n\n".join([inert(view.outcome or ""), inert(view.heading), *asked]) + "\n"


def _asked(asked: Asked, number: int, count: int) -> str:
    head = f"{number}) " if count > 1 else ""
    lines = [_barred(f"{head}{asked.header}: {asked.text}" if asked.header else f"{head}{asked.text}")]
    for place, choice in enumerate(asked.choices, 1):
        described = f" — {choice.description}" if choice.description else ""
        lines.append(_barred(f"  {place}. {choice.full}{described}"))
    return "\n".join(lines)


def _barred(text: str) -> str:
    return "\n".join(f"{BAR}{line}" for line in text.splitlines())
