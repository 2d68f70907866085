"""From what is asked and what a channel can do to what is shown there: one set of rules for every channel.

Nothing is ever cut to ambiguity: a label that does not fit gives way to its number. What an approval is about is
shown whole or not at all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from upcall.domain.channel.showing import Asked, Capabilities, Choice, Control, Given, View
from upcall.domain.inquiry.activity import LONGEST_BRANCH
from upcall.domain.inquiry.field import FieldType
from upcall.domain.inquiry.field_rules import LONGEST_DEFAULT, rules_of
from upcall.domain.inquiry.inquiry import APPROVE, DENY, Inquiry, Kind, Open, Question
from upcall.domain.inquiry.wording import resolution_text
from upcall.domain.text.display import escaped, one_line, units, visible

Words = Mapping[str, str]
SHORTEST = 400
"""Characters that are left of a text at the very least when it has to be cut."""

VERDICTS = (APPROVE, DENY)
"""What the positions of an approval's two choices stand for, in every language."""

PLAN_DECISIONS = ("approve", "plan.revise")
"""The words for those decisions about a plan that a channel shows, by their position."""

_LONGEST_HEADING = 200


class TooLong(Exception):
    """An approval that does not fit: what will be done has to be seen whole."""


def view(inquiry: Inquiry, can: Capabilities, words: Words, link: str = "") -> View:
    """What a channel shows of an inquiry as it stands; `link` leads to the whole of it where it has to be cut.

    Raises:
        TooLong: if it is an approval and does not fit.
    """
    return _fitted(_whole(inquiry, _offered(inquiry, can, words), words, link), can, words, link)


def asks_for_words(inquiry: Inquiry, can: Capabilities, words: Words, reply: str) -> bool:
    """Whether a reply is the number of "Other", which is no answer yet."""
    if len(inquiry.questions) != 1 or inquiry.kind.is_consent:
        return False
    question = inquiry.questions[0]
    shown = _asked(inquiry, question, _offered(inquiry, can, words), words, alone=True)
    number = reply.strip().rstrip(".)")
    return shown.other and number == shown.choices[-1].label and number not in question.labels


def plain(shown: View, words: Words) -> View:
    """The same with nothing to press, for a channel that did not take what there is to press: options by number.

    Its numbers are those of the options, so a reply is read as one to any other message about it.
    """
    questions = tuple(
        replace(
            asked,
            control=Control.WORDS,
            choices=tuple(
                replace(choice, label=str(number)) for number, choice in enumerate(asked.choices, 1)
            ),
            numbered=bool(asked.choices),
        )
        for asked in shown.questions
    )
    hint = _by_hand(questions, words, approval=shown.approval)
    return replace(shown, questions=questions, form=False, hint=hint)


def _by_hand(asked: Sequence[Asked], words: Words, *, approval: bool) -> str:
    """The hint that says how to answer a question in words."""
    if approval:
        return words["reply.approval"]
    if len(asked) > 1:
        pattern = " ".join(f"{number}) …" for number in range(1, len(asked) + 1))
        return words["reply.form" if any(each.typed for each in asked) else "reply.several"].format(
            pattern=pattern
        )
    (question,) = asked
    if not question.choices:
        return words["reply.text"]
    return words[f"reply.{'multi' if question.multi else 'one'}{'.custom' if question.custom else ''}"]


def reminder(inquiry: Inquiry, can: Capabilities, words: Words, link: str = "") -> str:
    """The line by which people are reminded; where it stands alone, with what it is about and where to answer."""
    if not can.one_way:
        return words["remind"]
    parts = (words["remind"], _heading(inquiry, words), link if can.link else "")
    return "\n".join(part for part in parts if part)


def stage(inquiry: Inquiry) -> str:
    """Which of an inquiry's views is the one to be seen."""
    return f"{inquiry.state_name}:{len(inquiry.votes)}"


def _offered(inquiry: Inquiry, can: Capabilities, words: Words) -> Capabilities:
    """The buttons and menus of an inquiry.

    Nothing where its text leaves no room for that, or where several questions would each need something of their own.
    """
    several = len(inquiry.questions) > 1
    tight = can.pressable > 0 and _size(_whole(inquiry, can, words, "")) > can.pressable
    if tight or (several and len(inquiry.questions) > can.form):
        return replace(can, buttons=0, radio=0, select=0, checkboxes=0, multi_select=0, form=0)
    return can


def _whole(inquiry: Inquiry, can: Capabilities, words: Words, link: str) -> View:
    """The whole question, of any length."""
    several = len(inquiry.questions) > 1
    form = several and len(inquiry.questions) <= can.form
    approval = inquiry.kind is Kind.APPROVAL
    asked = tuple(_asked(inquiry, question, can, words, alone=not several) for question in inquiry.questions)
    return View(
        inquiry=inquiry.id,
        ref=inquiry.ref,
        stage=stage(inquiry),
        heading=_heading(inquiry, words),
        context=(escaped if approval else visible)(inquiry.context).strip("\n"),
        questions=asked,
        hint=_hint(inquiry, asked, can, words, form=form),
        approval=approval,
        plan=inquiry.kind is Kind.PLAN,
        form=form,
        progress=_progress(inquiry, words),
        more=_more(inquiry, link, words),
        link=link if can.link and inquiry.is_open else "",
        page=link,
        outcome=None if inquiry.is_open else resolution_text(inquiry, words=words),
        agent=inquiry.origin.agent,
        asker=inquiry.origin.asker,
        run=inquiry.origin.run,
        secret=inquiry.secret,
    )


def _asked(inquiry: Inquiry, question: Question, can: Capabilities, words: Words, *, alone: bool) -> Asked:
    approval = inquiry.kind is Kind.APPROVAL
    if approval:
        choices = tuple(Choice(label=words[name], full=words[name]) for name in ("approve", "deny"))
    elif inquiry.kind is Kind.PLAN:
        choices = tuple(Choice(label=words[name], full=words[name]) for name in PLAN_DECISIONS)
    else:
        choices = tuple(
            Choice(label=label, full=label, description=one_line(option.description))
            for option, label in zip(question.options, _labels(question, words), strict=True)
        )
    control = _control(question, choices, can, alone=alone, approval=approval)
    width = can.button_label if control is Control.BUTTONS else can.option_label
    # One label that is too long numbers them all: half a list of numbers would be a riddle.
    numbered = control is Control.WORDS or any(units(choice.label) > width for choice in choices)
    if numbered:
        choices = tuple(
            Choice(label=str(number), full=choice.full, description=choice.description)
            for number, choice in enumerate(choices, 1)
        )
    # A person who replies by number to a single question can choose "other" by number too.
    by_number = alone and control is Control.WORDS and bool(choices) and not can.one_way
    other = by_number and question.custom and not question.multi and inquiry.kind is not Kind.PLAN
    if other:
        choices += (Choice(label=str(len(choices) + 1), full=words["other"]),)
    return Asked(
        header=one_line(question.header),
        text=_text(question, words, approval=approval),
        control=control,
        choices=choices,
        custom=question.custom and not approval,
        multi=question.multi and not approval,
        numbered=numbered and bool(choices),
        other=other,
        typed=question.field is not None,
        optional=question.field is not None and (not question.field.required or bool(question.field.default)),
        initial=_initial(question),
    )


def _labels(question: Question, words: Words) -> list[str]:
    if question.field is not None and question.field.type is FieldType.BOOLEAN:
        return [words["form.yes"], words["form.no"]]
    return [one_line(label) for label in question.labels]


def _text(question: Question, words: Words, *, approval: bool) -> str:
    """What is asked; of a field, with what it takes, and what is taken if it is left out."""
    text = (escaped if approval else visible)(question.text).strip()
    field = question.field
    if field is None:
        return text
    labels = dict(zip(question.labels, _labels(question, words), strict=True))
    default = ", ".join(one_line(labels.get(each, each), LONGEST_DEFAULT) for each in field.default)
    rules = rules_of(field.schema(), default, words, required=field.required)
    return words["form.rules"].format(text=text, rules=rules) if rules else text


def _initial(question: Question) -> Given:
    """The default of a field, as what is given before a person gives anything."""
    field = question.field
    if field is None or not question.options:
        return Given(words="" if field is None else "".join(field.default))
    return Given(picks=tuple(place for place, label in enumerate(question.labels) if label in field.default))


def _control(
    question: Question, choices: tuple[Choice, ...], can: Capabilities, *, alone: bool, approval: bool
) -> Control:
    count = len(choices)
    if not count:
        return Control.INPUT if can.text_input else Control.WORDS
    if question.multi and not approval:
        offered = [(can.checkboxes, Control.CHECKBOXES), (can.multi_select, Control.MULTI_SELECT)]
    else:
        fits = all(units(choice.label) <= can.button_label for choice in choices)
        # Long labels are better listed whole than pressed as numbers, where there is a list.
        buttons = can.buttons if alone and (fits or not can.radio) else 0
        offered = [
            (buttons, Control.BUTTONS),
            (can.radio, Control.RADIO),
            (can.select, Control.SELECT),
        ]
    return next((control for most, control in offered if count <= most), Control.WORDS)


def _heading(inquiry: Inquiry, words: Words) -> str:
    origin = inquiry.origin
    headings = {Kind.APPROVAL: "ask.approval", Kind.PLAN: "ask.plan"}
    parts = [words[headings.get(inquiry.kind, "ask")], one_line(origin.asker)]
    if origin.workspace:
        parts.append(one_line(origin.workspace))
    if origin.branch:
        parts.append(one_line(origin.branch, LONGEST_BRANCH))
    if origin.run is not None:
        parts.append(f"#{origin.run}")
    return one_line(" · ".join([*parts, inquiry.ref]), _LONGEST_HEADING)


def _hint(inquiry: Inquiry, asked: tuple[Asked, ...], can: Capabilities, words: Words, *, form: bool) -> str:
    if can.one_way:
        return ""
    if inquiry.kind is Kind.PLAN:
        return words["plan.hint"]
    approval, several = inquiry.kind is Kind.APPROVAL, len(asked) > 1
    by_hand = any(each.control is Control.WORDS for each in asked) and not form
    if by_hand or (several and not form and not approval):
        return _by_hand(asked, words, approval=approval)
    if approval or form:
        return ""
    question = inquiry.questions[0]
    if not question.options:
        return words["hint.reply"] if can.replies else ""
    return words["hint.other"] if question.custom and can.replies else ""


def _progress(inquiry: Inquiry, words: Words) -> str:
    if inquiry.quorum == 1 or not isinstance(inquiry.state, Open):
        return ""
    # Here it can be approved only as it was asked.
    given = inquiry.votes_for()
    who = ", ".join(one_line(vote.by) for vote in given)
    text = words["votes"].format(given=len(given), needed=inquiry.quorum)
    return f"{text} ({who})" if who else text


def _more(inquiry: Inquiry, link: str, words: Words) -> str:
    if inquiry.kind is Kind.PLAN and link:
        return words["plan.page"].format(link=link)
    previews = [
        option.label for question in inquiry.questions for option in question.options if option.preview
    ]
    names = [one_line(name) for name in (*(file.name for file in inquiry.attachments), *previews)]
    return one_line(f"📎 {', '.join(names)}", _LONGEST_HEADING) + f" — {link}" if names else ""


def _fitted(shown: View, can: Capabilities, words: Words, link: str) -> View:
    """The view within the channel's size. First the context is cut, then the questions, each to its head and tail."""
    over = _size(shown) - can.body
    if over <= 0:
        return shown
    if shown.approval and shown.outcome is None and not can.one_way:
        raise TooLong
    # Where the rest is, is said outside of what the agent wrote: within it, the agent could say so itself.
    note, rest = words["cut"], words["cut.link"].format(link=link) if link else ""
    shown = replace(shown, more="\n".join(part for part in (shown.more, rest) if part))
    over = _size(shown) - can.body
    context = _cut(shown.context, _size(shown.context) - over - len(note), note)
    shown = replace(shown, context=context)
    over = _size(shown) - can.body
    if over <= 0:
        return shown
    room = max(can.body - _size(replace(shown, questions=())), 0) // max(len(shown.questions), 1)
    questions = tuple(_shortened(question, room, note) for question in shown.questions)
    return replace(shown, questions=questions)


def _shortened(question: Asked, room: int, note: str) -> Asked:
    bare = Asked(header=question.header, text="", control=question.control, custom=question.custom)
    choices = question.choices
    if _size(question) - _size(question.text) > room - SHORTEST:
        choices = tuple(Choice(label=choice.label, full=choice.full) for choice in choices)
    left = room - _size(bare) - sum(_size(choice) for choice in choices) - len(note)
    return replace(question, text=_cut(question.text, left, note), choices=choices)


def _cut(text: str, size: int, note: str) -> str:
    """The head and the tail of a text, with a note between them, in about so many characters of JSON."""
    if _size(text) <= max(size, SHORTEST):
        return text
    kept = max(size, SHORTEST) * len(text) // _size(text)
    # Where it is cut, half of a joined emoji would stay with the joiner that nothing follows.
    head, tail = visible(text[: kept * 2 // 3]), visible(text[len(text) - kept // 3 :])
    return f"{head.rstrip()}\n{note}\n{tail.lstrip()}"


def _size(shown: View | Asked | Choice | str) -> int:
    match shown:
        case str():
            return len(json.dumps(shown, ensure_ascii=False).encode("utf-16-le", "surrogatepass")) // 2 - 2
        case Choice():
            # The label is on the control and, where it is numbered, the whole of it in the text.
            return _size(shown.label) + _size(shown.full) + _size(shown.description)
        case Asked():
            return _size(shown.header) + _size(shown.text) + sum(_size(choice) for choice in shown.choices)
        case View():
            texts = (
                shown.heading,
                shown.context,
                shown.hint,
                shown.progress,
                shown.more,
                shown.link,
                shown.outcome or "",
            )
            return sum(_size(text) for text in texts) + sum(_size(each) for each in shown.questions)
