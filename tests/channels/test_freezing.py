"""Nothing that was asked takes a channel long to draw: it is drawn in the loop that serves everybody else."""

import json
import time
from contextlib import suppress
from typing import Any

import pytest

from tests.adversary.freezing import BODIES
from tests.adversary.heartbeat import TRIES, is_short
from tests.channels.looks import WORDS
from tests.channels.test_framing import CHANNELS, LINK
from tests.channels.test_hostile_texts import SENT
from tests.domain.test_degrading import an_inquiry
from upcall.channels.whatsapp.messages import Unshowable
from upcall.domain.approval import actions
from upcall.domain.channel.degrading import TooLong, view
from upcall.domain.errors import UpcallError
from upcall.domain.inquiry.inquiry import Inquiry
from upcall.domain.run.program import Action

pytestmark = pytest.mark.thorough


def asked_in(body: bytes) -> Inquiry | None:
    """What becomes of it before any channel sees it; None if it is refused."""
    read: dict[str, Any] = json.loads(body)
    try:
        if "action" not in read:
            return an_inquiry(**read)
        shown = actions.approval(Action(**read["action"])).questions[0].text
        return an_inquiry(kind="approval", question=shown)
    except UpcallError:
        return None


@pytest.mark.promise("proof/3")
def test_no_question_takes_a_channel_long_to_draw() -> None:
    drawn, slow = 0, []
    for name, body in BODIES.items():
        inquiry = asked_in(body) if len(body) < 2_000_000 else None
        if inquiry is None:
            continue
        for channel, (frame, sent) in SENT.items():
            took = 0.0
            for _ in range(TRIES):
                before = time.thread_time()
                with suppress(TooLong, Unshowable):
                    sent(view(inquiry, CHANNELS[frame][0], WORDS, LINK))
                    drawn += 1
                took = time.thread_time() - before
                if is_short(took):
                    break
            else:
                slow.append((name, channel, took))
    assert drawn > 50
    assert slow == []
