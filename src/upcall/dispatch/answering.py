"""Makes the reply that the broker reads out of what a person did in a channel."""

from collections.abc import Mapping

from upcall.broker.broker import Reply
from upcall.dispatch.configured_channel import ConfiguredChannel
from upcall.domain.answer.matching import bare
from upcall.domain.answer.reading import strip_quoted
from upcall.domain.channel import degrading
from upcall.domain.channel.showing import Given, Inbound
from upcall.domain.inquiry.inquiry import Inquiry, Kind
from upcall.domain.records import Effects


def reply_of(
    inquiry: Inquiry, inbound: Inbound, words: str, configured: ConfiguredChannel, effects: Effects
) -> Reply:
    """What was written, or what was pressed and typed as an answer for each question."""
    key = f"{configured.name}:{inbound.id}"
    given = inbound.given
    if given is None:
        text = strip_quoted(words)
        if inquiry.kind is Kind.APPROVAL:
            text = _verdict(f"{text}\n{inbound.rest}" if inbound.rest else text, configured.words)
        clear = configured.channel.capabilities.letters
        return Reply(text=text, via=configured.name, key=key, effects=effects, clear=clear)
    answers = [
        _values(inquiry, index, each) for index, each in enumerate(given) if index < len(inquiry.questions)
    ]
    only = given[0] if len(given) == 1 else None
    if only is not None and not only.picks:
        return Reply(text=only.words, via=configured.name, key=key)
    return Reply(answers=answers, via=configured.name, key=key)


def _verdict(text: str, words: Mapping[str, str]) -> str:
    """A yes or a no in the language of the channel's hint, as the word that the domain reads."""
    said = bare(text).casefold()
    for word, label, verdict in (("word.yes", "approve", "yes"), ("word.no", "deny", "no")):
        if said in {*words[word].split("|"), words[label].casefold()}:
            return verdict
    return text


def _values(inquiry: Inquiry, index: int, given: Given) -> list[str]:
    labels = degrading.VERDICTS if inquiry.kind is Kind.APPROVAL else inquiry.questions[index].labels
    chosen = [labels[pick] for pick in given.picks if 0 <= pick < len(labels)]
    return [*chosen, *([given.words] if given.words.strip() else [])]
