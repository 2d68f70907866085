"""The picker's face: its state as lines that fit the screen.

It tells the picker how far a text can be scrolled and when its end was shown; beyond that it changes nothing.
"""

from typing import NamedTuple
from unicodedata import east_asian_width

from upcall.cli.picker.picker import Choosing, Inquiry, Picker, SettledMeanwhile
from upcall.cli.render.inquiries import asker, resolution
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import escaped, one_line, visible
from upcall.domain.text.times import since

LIST_KEYS = "↑↓ move · Enter open · r reject · q leave"
ONE_KEYS = "↑↓ or number choose · Enter answer · r reject · Esc back"
APPROVAL_KEYS = "↑↓ or number choose · Enter answer · a remember · r reject · Esc back"
MULTI_KEYS = "↑↓ move · space or number choose · Enter answer · r reject · Esc back"
TEXT_KEYS = "type your answer · Enter send · Esc back"
CLOSED_KEYS = "Esc back to the list"
REASON_KEYS = "type a reason, or nothing · Enter reject · Esc back"


REMEMBERED = {
    "": "Approve counts for this time only.",
    "exact": "Approve is remembered for this very action.",
    "prefix": "Approve is remembered for everything that begins with {prefix}",
    "tool": "Approve is remembered for this tool.",
    "directory": "Approve is remembered for this tool in this directory.",
}
"""A sentence for each kind of rule that an approval can be remembered as."""

HERE = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


class Size(NamedTuple):
    """The room there is."""

    columns: int
    rows: int


def screen(picker: Picker, now: float, size: Size, paint: Paint) -> list[str]:
    """What the screen shows now, at most `size.rows` lines."""
    if picker.closed is not None:
        body, end, keys = *_closed(picker.closed, size, paint), CLOSED_KEYS
    elif picker.declining is not None:
        body, end, keys = *_declining(*picker.declining, size, paint), REASON_KEYS
    elif picker.choosing is not None:
        body, end, keys = *_choosing(picker.choosing, now, size, paint), _keys(picker.choosing)
    else:
        body, end, keys = _list(picker, now, size, paint), [], LIST_KEYS
    foot = ["", *([paint.bold(one_line(picker.note, size.columns - 1))] if picker.note else [])]
    foot.append(paint.dim(one_line(keys, size.columns - 1)))
    room = max(size.rows - len(end) - len(foot), 1)
    if picker.choosing is not None and picker.declining is None:
        body = _window(body, room, picker.choosing, paint)
    return [*body[:room], *end, *foot][: size.rows]


def _list(picker: Picker, now: float, size: Size, paint: Paint) -> list[str]:
    if not picker.inquiries:
        return [paint.bold("Nothing is waiting."), "", "New questions appear here by themselves."]
    shown = max((size.rows - 5) // 2, 1)
    first = max(min(picker.cursor - shown // 2, len(picker.inquiries) - shown), 0)
    lines = [paint.bold(one_line(f"WAITING FOR INPUT ({len(picker.inquiries)})", size.columns - 1)), ""]
    for number, inquiry in enumerate(picker.inquiries[first : first + shown], first):
        here = number == picker.cursor
        head = f"#{inquiry['ref']} {asker(inquiry)} (waiting {since(inquiry['asked_at'], now)})"
        head = f"{HERE if here else ' '} {one_line(head, size.columns - 3)}"
        question = one_line(inquiry["questions"][0]["question"], size.columns - 5)
        lines += [paint.name(head) if here else head, f"    {paint.bold(question) if here else question}"]
    return lines


def _choosing(choosing: Choosing, now: float, size: Size, paint: Paint) -> tuple[list[str], list[str]]:
    inquiry = choosing.inquiry
    exact = choosing.is_approval
    several = len(inquiry["questions"])
    place = f" · question {len(choosing.given) + 1} of {several}" if several > 1 else ""
    head = f"#{inquiry['ref']} {one_line(asker(inquiry))} · waiting {since(inquiry['asked_at'], now)}{place}"
    body = [paint.dim(one_line(head, size.columns - 1)), ""]
    body += [
        paint.bold(line) for line in _folded(choosing.question["question"], size.columns - 1, exact=exact)
    ]
    if inquiry["context"].strip():
        body += ["", *_folded(inquiry["context"].strip("\n"), size.columns - 1, exact=exact)]
    if inquiry["attachments"]:
        names = ", ".join(file["name"] for file in inquiry["attachments"])
        body += ["", one_line(f"Attached: {names}", size.columns - 1)]
    return body, ["", *_options(choosing, size, paint)]


def _options(choosing: Choosing, size: Size, paint: Paint) -> list[str]:
    lines: list[str] = []
    for number, option in enumerate(choosing.options):
        here = number == choosing.cursor
        box = ("[x] " if number in choosing.chosen else "[ ] ") if choosing.multi else ""
        text = f"{number + 1}. {option['label']}"
        if option.get("recommended"):
            text += " (recommended)"
        if option["description"]:
            text += f" — {option['description']}"
        line = f"{HERE if here else ' '} {one_line(box + text, size.columns - 3)}"
        lines.append(paint.name(line) if here else line)
    if choosing.custom:
        here = choosing.typing
        lead = "Other: " if choosing.options else ""
        typed = _tail(choosing.typed, size.columns - 12)
        if choosing.inquiry["secret"]:
            typed = "•" * len(typed)
        line = f"{HERE if here else ' '} {lead}{typed}{'▏' if here else ''}"
        lines.append(paint.name(line) if here else line)
    if choosing.ways:
        said = REMEMBERED[choosing.remember].format(prefix=choosing.inquiry["action"]["prefix"])
        lines += ["", one_line(said, size.columns - 1)]
    return lines


def _declining(inquiry: Inquiry, reason: str, size: Size, paint: Paint) -> tuple[list[str], list[str]]:
    question = one_line(inquiry["questions"][0]["question"], size.columns - 1)
    body = [paint.bold(f"Reject #{inquiry['ref']}"), "", question]
    return body, ["", paint.name(f"{HERE} Reason: {_tail(reason, size.columns - 14)}▏")]


def _closed(closed: SettledMeanwhile, size: Size, paint: Paint) -> tuple[list[str], list[str]]:
    question = one_line(closed.inquiry["questions"][0]["question"], size.columns - 1)
    told = _folded(f"#{closed.inquiry['ref']} {closed.how}.", size.columns - 1, exact=False)
    body = [*(paint.bold(line) for line in told), "", question]
    if closed.written.strip() and not closed.inquiry["secret"]:
        body += ["", paint.dim("Not sent:"), *_folded(closed.written, size.columns - 1, exact=False)]
    return body, []


def _window(body: list[str], room: int, choosing: Choosing, paint: Paint) -> list[str]:
    """The part of a long text that was scrolled to; how much more there is, is said."""
    if len(body) <= room:
        choosing.scroll, choosing.whole = 0, True
        return body
    step = max(room - 2, 1)
    last = -(-(len(body) - step) // step)
    choosing.scroll = max(min(choosing.scroll, last), 0)
    start = min(choosing.scroll * step, len(body) - step)
    after = len(body) - start - step
    choosing.whole |= after == 0
    told = f"… {after} more: PgDn" if after else "(the end; PgUp)"
    return [*body[start : start + step], paint.dim(told)]


def _keys(choosing: Choosing) -> str:
    if choosing.typing:
        return TEXT_KEYS
    if choosing.ways:
        return APPROVAL_KEYS
    return MULTI_KEYS if choosing.multi else ONE_KEYS


def _folded(text: str, columns: int, *, exact: bool) -> list[str]:
    """The text in lines that fit; for an approval every character of it, odd ones as escapes."""
    shown = escaped(text) if exact else visible(text)
    lines: list[str] = []
    for line in shown.replace("\t", "    ").split("\n"):
        lines += _fold(line, max(columns, 10))
    return lines


def _fold(line: str, columns: int) -> list[str]:
    """Break a line where its words end, or, in a word that is too long, anywhere."""
    lines: list[str] = []
    while True:
        cut = _fitting(line, columns)
        if cut == len(line):
            return [*lines, line]
        space = line.rfind(" ", cut // 2, cut)
        cut = space + 1 if space > 0 else cut
        lines.append(line[:cut])
        line = line[cut:]


def _tail(text: str, columns: int) -> str:
    """The end of what is being typed, where the cursor is."""
    columns = max(columns if text.isascii() else columns // 2, 1)
    return one_line(text[-columns:]) + (" " if text.endswith(" ") else "")


def _fitting(line: str, columns: int) -> int:
    """How many characters fit; wide ones take two columns."""
    for index, character in enumerate(line):
        columns -= 2 if east_asian_width(character) in {"W", "F"} else 1
        if columns < 0:
            return max(index, 1)
    return len(line)


def outcome(reply: dict[str, object], inquiry: Inquiry, done: str, now: float) -> str:
    """The result of an answer in one line."""
    return done if reply["accepted"] else f"#{inquiry['ref']} {resolution(inquiry, now)}."
