"""Notifications of a terminal: the sequence that it understands, and nothing that the agent wrote in another."""

import io

import pytest
from typing_extensions import override

from upcall.channels.notifications.channel import Notice, terminal

pytestmark = pytest.mark.promise("spec/84")


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    @override
    def isatty(self) -> bool:
        return True


NOTICE = Notice(
    title="up;call",
    text="claude needs input",
    question="Which\x1b\\ cache\x07?\u202e",
    ref="a7",
    agent="claude",
    run=None,
    link="http://127.0.0.1:7391/a/token",
)


@pytest.mark.parametrize(
    ("code", "sequence"),
    [
        ("9", "\x1b]9;up,call: claude needs input: Which cache? http://127.0.0.1:7391/a/token\x1b\\"),
        (
            "777",
            "\x1b]777;notify;up,call;claude needs input: Which cache? http://127.0.0.1:7391/a/token\x1b\\",
        ),
        (
            "99",
            "\x1b]99;i=a7:d=0;up,call\x1b\\\x1b]99;i=a7:p=body;claude needs input: Which cache? http://127.0.0.1:7391/a/token\x1b\\",
        ),
    ],
)
async def test_a_terminal_shows_a_notification_in_its_own_way(code: str, sequence: str) -> None:
    stream = Terminal()
    await terminal(code, stream)(NOTICE)
    assert stream.getvalue() == sequence


async def test_what_is_no_terminal_gets_nothing() -> None:
    stream = io.StringIO()
    await terminal("9", stream)(NOTICE)
    assert stream.getvalue() == ""
