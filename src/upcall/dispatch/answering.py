"""Makes the reply that the broker reads out of what a person did in a channel."""

from collections.abc import Mapping
from dataclasses import replace

from upcall.broker.broker import Reply
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.domain.answer import plans
from upcall.domain.answer.matching import NUMBER, bare, is_blank
from upcall.domain.answer.reading import strip_quoted
from upcall.domain.answer.typed import is_form
from upcall.domain.channel import degrading
from upcall.domain.channel.showing import Given, Inbound
from upcall.domain.errors import UnreadableAnswer
from upcall.domain.inquiry.field import FieldType
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.inquiry.plans import REVISE
from upcall.domain.inquiry.unfit import UnfitAnswer
from upcall.domain.inquiry.uploads import Upload
from upcall.domain.records import Effects
from upcall.domain.text.display import one_line

LONGEST_TITLE = 60


def reply_of(
    inquiry: Inquiry,
    inbound: Inbound,
    words: str,
    configured: ConfiguredChannel,
    files: tuple[Upload, ...],
    effects: Effects,
) -> Reply:
    """What was written, or what was pressed and typed as an answer for each question, with the files that came with it."""
    reply = _reply(inquiry, inbound, words, configured)
    key = f"{configured.name}:{inbound.id}"
    return replace(reply, via=configured.name, key=key, files=files, effects=effects)


def _reply(inquiry: Inquiry, inbound: Inbound, words: str, configured: ConfiguredChannel) -> Reply:
    given = inbound.given
    if given is None:
        text = strip_quoted(words)
        if inquiry.kind is Kind.APPROVAL:
            text = _verdict(f"{text}\n{inbound.rest}" if inbound.rest else text, configured.words)
        elif inquiry.kind is Kind.PLAN:
            text = _plan_words(inquiry, text, inbound.rest, configured.words)
        elif _is_switch(inquiry):
            text = _verdict(text, configured.words)
        clear = configured.channel.capabilities.letters
        return Reply(text=text, clear=clear)
    answers = [
        _values(inquiry, index, each) for index, each in enumerate(given) if index < len(inquiry.questions)
    ]
    only = given[0] if len(given) == 1 else None
    # A field of a form that was left empty is left out: that is for the form to take or to refuse.
    if only is not None and not only.picks and not (is_form(inquiry) and is_blank(only.words)):
        return Reply(text=only.words)
    return Reply(answers=answers)


def unfit_line(error: UnfitAnswer, words: Mapping[str, str]) -> str:
    """What does not fit, a sentence for each field."""
    return "\n".join(
        f"{one_line(each.title, LONGEST_TITLE)}: {words[f'field.{each.rule}'].format(**each.gaps)}"
        for each in error.problems
    )


def _verdict(text: str, words: Mapping[str, str]) -> str:
    """A yes or a no in the language of the channel's hint, as the word that the domain reads."""
    said = bare(text).casefold()
    for word, label, verdict in (("word.yes", "approve", "yes"), ("word.no", "deny", "no")):
        if said in {*words[word].split("|"), words[label].casefold()}:
            return verdict
    return text


def _plan_words(inquiry: Inquiry, text: str, rest: str, words: Mapping[str, str]) -> str:
    """What was said about a plan, with its decision as the word that the domain reads.

    Raises:
        UnreadableAnswer: if it is a decision, and may not be all that was said, or the number of one that no channel shows.
    """
    said = _verdict(text, words)
    number = NUMBER.fullmatch(bare(said))
    if number is not None and int(number[1]) > len(degrading.PLAN_DECISIONS):
        raise UnreadableAnswer("a channel shows two decisions about a plan")
    if bare(said).casefold() == words["plan.revise"].casefold():
        said = REVISE
    if rest and not plans.read(inquiry, said.strip()).note:
        raise UnreadableAnswer("a plan is decided by nothing but the word")
    return said


def _is_switch(inquiry: Inquiry) -> bool:
    """Whether it is a form of nothing but a yes or a no."""
    field = inquiry.questions[0].field
    return len(inquiry.questions) == 1 and field is not None and field.type is FieldType.BOOLEAN


def _values(inquiry: Inquiry, index: int, given: Given) -> list[str]:
    labels = degrading.VERDICTS if inquiry.kind is Kind.APPROVAL else inquiry.questions[index].labels
    chosen = [labels[pick] for pick in given.picks if 0 <= pick < len(labels)]
    return [*chosen, *([given.words] if given.words.strip() else [])]
