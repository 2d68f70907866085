"""Reads replies on the command line: from the arguments, from standard input, or at a prompt.

A prompt for a secret has no echo. A reply to an approval that is no clear yes or no is never sent.
"""

import sys
from getpass import getpass

from upcall.cli.failures import CommandFailed
from upcall.cli.render.inquiries import Inquiry
from upcall.cli.render.terminal import is_terminal
from upcall.domain.answer.matching import is_blank
from upcall.domain.answer.verdicts import is_clear_yes
from upcall.domain.text.display import one_line

USAGE = 2
VERDICTS = "yes, y, ok, approve, allow or 1; no, n, deny, reject or 2"
"""The words that decide an approval, as people are told them."""


def reply_values(inquiry: Inquiry, words: list[str]) -> list[str]:
    """The values to be sent for these words: `-` stands for standard input, none at all for a prompt for each question.

    Raises:
        CommandFailed: if they do not decide an approval, and there is no terminal to ask again.
    """
    if not words:
        return [_asked(inquiry, question["question"]) for question in inquiry["questions"]]
    if words != ["-"]:
        return _decided(inquiry, words, can_ask=is_terminal(sys.stdin) and is_terminal(sys.stderr))
    if inquiry["secret"] and is_terminal(sys.stdin):
        return [_asked(inquiry, inquiry["questions"][0]["question"])]
    return _decided(inquiry, [sys.stdin.read()], can_ask=False)


def is_unclear(inquiry: Inquiry, text: str) -> bool:
    """Whether a text is neither a clear yes nor a clear no to an approval."""
    return inquiry["kind"] == "approval" and not is_blank(text) and is_clear_yes(text) is None


def neither(text: str) -> str:
    """Says that a text decides nothing."""
    return f"{one_line(text, 60)!r} is neither a yes nor a no"


def _decided(inquiry: Inquiry, words: list[str], *, can_ask: bool) -> list[str]:
    said = words
    while len(said) == 1 and is_unclear(inquiry, said[0]):
        if not can_ask:
            raise CommandFailed(neither(said[0]), hint=f"say one of: {VERDICTS}", exit_code=USAGE)
        print(f"{neither(said[0])}. Say one of: {VERDICTS}.", file=sys.stderr)
        said = [_line("Approve or deny? ")]
    return said


def _asked(inquiry: Inquiry, question: str) -> str:
    prompt = f"{one_line(question, 200)} "
    if inquiry["secret"]:
        return getpass(f"{prompt}(not shown) ")
    return _decided(inquiry, [_line(prompt)], can_ask=True)[0]


def _line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise CommandFailed(
            "no answer was given", hint="the question stays open; answer it again", exit_code=USAGE
        )
    return line
