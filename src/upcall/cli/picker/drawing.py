"""The picker's face: its state as lines that fit the screen.

It tells the picker how far a text can be scrolled and when its end was shown; beyond that it changes nothing.
"""

from typing import NamedTuple
from unicodedata import east_asian_width

from upcall.cli.picker.choosing import Choosing, Inquiry
from upcall.cli.picker.picker import Picker, SettledMeanwhile
from upcall.cli.render.inquiries import asker, resolution
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import escaped, one_line, visible
from upcall.domain.text.times import since

LIST_KEYS = "↑↓ move · Enter open · Tab actions · / search · ? keys · q leave"
SEARCH_KEYS = "type what to search for · Enter keep it · Esc show all"
OWN_WORDS_KEYS = "↑↓ or number choose · or type your answer · Enter send · Tab actions · Esc back"
ONE_KEYS = "↑↓ or number choose · Enter send · Tab actions · Esc back"
OWN_WORDS_MULTI_KEYS = "space or number tick · ↓ own words · Enter send · Tab actions · Esc back"
MULTI_KEYS = "↑↓ move · space or number tick · Enter send · Tab actions · Esc back"
TEXT_KEYS = "type your answer · Enter send · Tab actions · Esc back"
CLOSED_KEYS = "Esc back to the list"
REASON_KEYS = "type a reason, or nothing · Enter reject · Esc back"
HELP_KEYS = "Esc back"

HELP = """\
In the list
  ↑ ↓ or j k   move
  Enter        open the question
  /            search; Esc shows all again
  q            leave

In a question
  ↑ ↓ or 1 2 3 choose; j k too, where only the options count
  space        tick, where several may be chosen
  letters      begin an answer in your own words, where one is taken
  PgUp PgDn    scroll
  Enter        send what is chosen or typed
  Esc          back

Tab, then a letter (no word that you type does any of these)
  y            take the recommended option
  u            undo what you decided last, before the agent is told
  a            remember an approval: the next wider rule
  r            reject, with a reason if you like
  e            24 hours more time"""

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
    elif picker.helping:
        body, end, keys = _folded(HELP, size.columns - 1, exact=False), [], HELP_KEYS
    elif picker.choosing is not None:
        body, end, keys = *_choosing(picker.choosing, now, size, paint), _keys(picker.choosing)
    else:
        body, end, keys = (
            *_list(picker, now, size, paint),
            LIST_KEYS if picker.search is None else SEARCH_KEYS,
        )
    if picker.acting:
        keys = " · ".join([*(f"{key} {does}" for key, does in picker.actions.items()), "Esc back"])
    foot = ["", *([paint.bold(one_line(picker.note, size.columns - 1))] if picker.note else [])]
    foot.append(paint.dim(one_line(keys, size.columns - 1)))
    room = max(size.rows - len(end) - len(foot), 1)
    if picker.choosing is not None and picker.declining is None:
        body = _window(body, room, picker.choosing, paint)
    return [*body[:room], *end, *foot][: size.rows]


def _list(picker: Picker, now: float, size: Size, paint: Paint) -> tuple[list[str], list[str]]:
    sought = picker.sought if picker.search is None else picker.search
    end = ["", _field("Search: ", sought, size, typing=picker.search is not None)]
    end = end if sought or picker.search is not None else []
    inquiries = picker.inquiries
    if not picker.waiting:
        return [paint.bold("Nothing is waiting."), "", "New questions appear here by themselves."], end
    if not inquiries:
        return [paint.bold(f"Nothing of the {len(picker.waiting)} that wait was found.")], end
    shown = max((size.rows - 5 - len(end)) // 2, 1)
    first = max(min(picker.cursor - shown // 2, len(inquiries) - shown), 0)
    of = f"{len(inquiries)} of {len(picker.waiting)}" if sought else f"{len(inquiries)}"
    lines = [paint.bold(one_line(f"WAITING FOR INPUT ({of})", size.columns - 1)), ""]
    for number, inquiry in enumerate(inquiries[first : first + shown], first):
        here = number == picker.cursor
        head = f"#{inquiry['ref']} {asker(inquiry)} (waiting {since(inquiry['asked_at'], now)})"
        head = f"{HERE if here else ' '} {one_line(head, size.columns - 3)}"
        question = one_line(inquiry["questions"][0]["question"], size.columns - 5)
        lines += [paint.name(head) if here else head, f"    {paint.bold(question) if here else question}"]
    return lines, end


def _field(lead: str, text: str, size: Size, *, typing: bool) -> str:
    return (
        f"{HERE if typing else ' '} {lead}{_tail(text, size.columns - len(lead) - 5)}{'▏' if typing else ''}"
    )


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
    return body, ["", paint.name(_field("Reason: ", reason, size, typing=True))]


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
    if choosing.custom:
        return OWN_WORDS_MULTI_KEYS if choosing.multi else OWN_WORDS_KEYS
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
