"""The picker's face: its state as lines that fit the screen.

It tells the picker how far a text can be scrolled and when its end was shown; beyond that it changes nothing.
"""

from typing import NamedTuple, Protocol

from upcall.cli.picker.browsing import COMMAND, FIND, QUESTION, RUN, SETTLED, Browsing
from upcall.cli.picker.changing import Changing
from upcall.cli.picker.choosing import Choosing, Inquiry, SettledMeanwhile
from upcall.cli.picker.folding import folded, tail
from upcall.cli.picker.help import HELP, footer
from upcall.cli.picker.picker import Picker
from upcall.cli.render.fields import expected
from upcall.cli.render.inquiries import HIDDEN, asker, resolution
from upcall.cli.render.plans import CHANGED, numbered
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import one_line
from upcall.domain.text.times import since

REMEMBERED = {
    "": "Approve counts for this time only.",
    "exact": "Approve is remembered for this very action.",
    "prefix": "Approve is remembered for everything that begins with {prefix}",
    "tool": "Approve is remembered for this tool.",
    "directory": "Approve is remembered for this tool in this directory.",
}
"""A sentence for each kind of rule that an approval can be remembered as."""

MARKS = {QUESTION: "waiting", SETTLED: "settled", RUN: "run", COMMAND: ""}
"""What stands before a row of what was found; before a command stands its key."""

END = "(the end; PgUp)"
HERE = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"


class Scrolls(Protocol):
    """What remembers how far a text was scrolled."""

    scroll: int


class Size(NamedTuple):
    """The room there is."""

    columns: int
    rows: int


def screen(picker: Picker, now: float, size: Size, paint: Paint) -> list[str]:
    """What the screen shows now, at most `size.rows` lines."""
    foot = ["", *([paint.bold(one_line(picker.note, size.columns - 1))] if picker.note else [])]
    foot.append(paint.dim(one_line(footer(picker), size.columns - 1)))
    room = max(size.rows - len(foot), 1)
    end: list[str] = []
    if picker.closed is not None:
        body = _closed(picker.closed, size, paint)
    elif picker.helping:
        body = _scrolled(folded(HELP, size.columns - 1, exact=False), room, picker, paint)
    elif picker.declining is not None:
        body, end = _declining(*picker.declining, size, paint)
    elif picker.changing is not None:
        body = _window(_changing(picker.changing, size, paint), room, picker.changing, paint)
    elif picker.browsing is not None:
        return [*_browsing(picker.browsing, size, room, paint), *foot][: size.rows]
    elif picker.choosing is not None:
        body, end = _choosing(picker.choosing, now, size, paint)
        body = _window(body, max(room - len(end), 1), picker.choosing, paint)
    else:
        body, end = _list(picker, now, size, paint)
    return [*body[: max(room - len(end), 1)], *end, *foot][: size.rows]


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
        f"{HERE if typing else ' '} {lead}{tail(text, size.columns - len(lead) - 5)}{'▏' if typing else ''}"
    )


def _browsing(browsing: Browsing, size: Size, room: int, paint: Paint) -> list[str]:
    width = size.columns - 1
    if browsing.text is not None:
        lines = [part for line in browsing.text for part in folded(line, width, exact=False)]
        return _scrolled(lines, room, browsing, paint)
    finds = browsing.place == FIND
    title = _field("Find: ", browsing.words, size, typing=True) if finds else browsing.place.upper()
    head = [paint.name(title) if finds else paint.bold(title), ""]
    if not browsing.entries:
        return [*head, "Nothing was found." if finds else "Nothing is here yet."]
    shown = max(room - len(head), 1)
    first = max(min(browsing.cursor - shown // 2, len(browsing.entries) - shown), 0)
    widest = max(len(MARKS[entry.kind] or entry.name) for entry in browsing.entries)
    for number, entry in enumerate(browsing.entries[first : first + shown], first):
        here = number == browsing.cursor
        mark = f"{MARKS[entry.kind] or entry.name:<{widest}}  " if finds else ""
        line = f"{HERE if here else ' '} {mark}{one_line(entry.text, max(width - 2 - len(mark), 1))}"
        head.append(paint.name(line) if here else line)
    return head


def _choosing(choosing: Choosing, now: float, size: Size, paint: Paint) -> tuple[list[str], list[str]]:
    inquiry = choosing.inquiry
    exact = choosing.is_approval
    head = f"#{inquiry['ref']} {one_line(asker(inquiry))} · waiting {since(inquiry['asked_at'], now)}"
    body = [paint.dim(one_line(head, size.columns - 1)), ""]
    if choosing.is_form:
        body[1:1] = [one_line(_tabs(choosing), size.columns - 1)]
    if choosing.reviewing:
        return [*body, *_review(choosing, size, paint)], []
    question = choosing.part.question["question"]
    body += [paint.bold(line) for line in folded(question, size.columns - 1, exact=exact)]
    if rules := expected(choosing.part.question):
        body += [paint.dim(line) for line in folded(rules, size.columns - 1, exact=False)]
    context = inquiry["context"].strip("\n")
    if inquiry["kind"] == "plan":
        context = "\n".join([*numbered(inquiry["context"]), *_revised(inquiry)])
    if context.strip():
        body += ["", *folded(context, size.columns - 1, exact=exact)]
    if inquiry["attachments"]:
        names = ", ".join(file["name"] for file in inquiry["attachments"])
        body += ["", one_line(f"Attached: {names}", size.columns - 1)]
    return [*body, *_preview(choosing, size)], ["", *_options(choosing, size, paint)]


def _preview(choosing: Choosing, size: Size) -> list[str]:
    """What the option under the cursor would look like."""
    part = choosing.part
    option = part.options[part.cursor] if 0 <= part.cursor < len(part.options) else {}
    if not (preview := option.get("preview")):
        return []
    lines = folded(preview.strip("\n"), size.columns - 3, exact=False)
    return ["", one_line(f"{option['label']}:", size.columns - 1), *(f"│ {line}" for line in lines)]


def _revised(inquiry: Inquiry) -> list[str]:
    """How a plan differs from the one before."""
    found: str = (inquiry.get("plan") or {}).get("difference") or ""
    return ["", CHANGED, *found.split("\n")] if found else []


def _changing(changing: Changing, size: Size, paint: Paint) -> list[str]:
    ref, width = changing.inquiry["ref"], size.columns - 1
    if changing.input is None:
        head = [f"Send #{ref} back with this?"]
    elif changing.runs:
        head = [
            f"Approve #{ref} as changed?",
            "That and nothing else runs. The agent is told what you changed.",
        ]
    else:
        head = [f"Deny #{ref}, and suggest this?", "Its program cannot run a changed action."]
    body = [
        paint.bold(head[0]),
        *(line for text in head[1:] for line in folded(text, width, exact=False)),
        "",
    ]
    return [*body, *folded(changing.text, width, exact=changing.input is not None)]


def _tabs(choosing: Choosing) -> str:
    """The questions of a form in one line: which is open, and which have an answer."""
    names = [f"{number + 1} {part.question['header']}".strip() for number, part in enumerate(choosing.parts)]
    done = [f"{name} ✓" if choosing.is_done(number) else name for number, name in enumerate(names)]
    return " · ".join(
        f"[{name}]" if number == choosing.at else name for number, name in enumerate([*done, "review"])
    )


def _review(choosing: Choosing, size: Size, paint: Paint) -> list[str]:
    lines = [paint.bold("To be sent:"), ""]
    for number, part in enumerate(choosing.parts):
        question = f"{number + 1}. {part.question['header'] or part.question['question']}"
        left = "(left out)" if choosing.is_done(number) else "(no answer yet)"
        answer = ", ".join(choosing.answer(number)) or left
        answer = HIDDEN if choosing.inquiry["secret"] and choosing.answer(number) else answer
        lines += [one_line(question, size.columns - 1)]
        lines += [f"   {line}" for line in folded(answer, size.columns - 4, exact=False)]
    return lines


def _options(choosing: Choosing, size: Size, paint: Paint) -> list[str]:
    part = choosing.part
    lines: list[str] = []
    for number, option in enumerate(part.options):
        here = number == part.cursor
        box = ("[x] " if number in part.chosen else "[ ] ") if part.multi else ""
        text = f"{number + 1}. {option['label']}"
        if option.get("recommended"):
            text += " (recommended)"
        if option["description"]:
            text += f" — {option['description']}"
        line = f"{HERE if here else ' '} {one_line(box + text, size.columns - 3)}"
        lines.append(paint.name(line) if here else line)
    if part.custom:
        here = part.typing
        lead = "Other: " if part.options else ""
        typed = tail(part.typed, size.columns - 12)
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


def _closed(closed: SettledMeanwhile, size: Size, paint: Paint) -> list[str]:
    question = one_line(closed.inquiry["questions"][0]["question"], size.columns - 1)
    told = folded(f"#{closed.inquiry['ref']} {closed.how}.", size.columns - 1, exact=False)
    body = [*(paint.bold(line) for line in told), "", question]
    if closed.written.strip() and not closed.inquiry["secret"]:
        body += ["", paint.dim("Not sent:"), *folded(closed.written, size.columns - 1, exact=False)]
    return body


def _window(body: list[str], room: int, read: Choosing | Changing, paint: Paint) -> list[str]:
    """The part of a text that was scrolled to; once its end was shown, that is known."""
    lines = _scrolled(body, room, read, paint)
    read.whole |= len(body) <= room or lines[-1] == paint.dim(END)
    return lines


def _scrolled(body: list[str], room: int, where: Scrolls, paint: Paint) -> list[str]:
    """The part of a long text that was scrolled to; how much more there is, is said."""
    if len(body) <= room:
        where.scroll = 0
        return body
    step = max(room - 2, 1)
    last = -(-(len(body) - step) // step)
    where.scroll = max(min(where.scroll, last), 0)
    start = min(where.scroll * step, len(body) - step)
    after = len(body) - start - step
    return [*body[start : start + step], paint.dim(f"… {after} more: PgDn" if after else END)]


def outcome(reply: dict[str, object], inquiry: Inquiry, done: str, now: float) -> str:
    """The result of an answer in one line."""
    return done if reply["accepted"] else f"#{inquiry['ref']} {resolution(inquiry, now)}."
