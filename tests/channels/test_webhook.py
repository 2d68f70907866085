"""Webhooks, out and in: the contract that every channel passes, and what only they have to withstand."""

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from typing_extensions import override

from tests.channels.receiver import SECRET, Receiver, signature
from upcall.broker.broker import Reply
from upcall.channels.webhook.channel import Webhook
from upcall.channels.webhook.signing import headers, is_genuine, key_in
from upcall.domain.channel.showing import Reference, View
from upcall.ports.channel import Refused, SignedOut, Unavailable
from upcall.testing.channel_contract import ChannelContract
from upcall.testing.channel_house import WEB, a_house

VIEW = View(
    inquiry="01m7", ref="a7", stage="open:0", heading="h", context="", questions=(), hint="", link="http://x"
)


@pytest.mark.promise("spec/83")
class TestWebhook(ChannelContract):
    """A program that takes webhooks and calls back."""

    @pytest.fixture
    @override
    async def vendor(self) -> AsyncIterator[Receiver]:
        """A receiver of this test's own."""
        async with Receiver().served() as receiver:
            yield receiver


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver of this test's own."""
    async with Receiver().served() as receiver:
        yield receiver


@pytest.mark.promise("spec/83")
async def test_what_is_sent_has_the_documented_form(receiver: Receiver, tmp_path: Path) -> None:
    async with a_house(receiver, tmp_path) as house:
        asked = await house.ask(options=[{"label": "Redis", "description": "has pub/sub"}], context="now")
        await receiver.until(lambda: len(receiver.received) == 1)
    (event,) = receiver.received
    data = event["data"]
    assert (event["type"], set(event)) == ("inquiry.shown", {"type", "timestamp", "data"})
    assert (data["inquiry"], data["ref"], data["state"]) == (asked.id, asked.ref, "open")
    assert (data["place"], data["link"], data["outcome"]) == ("ops", f"http://x/i/{asked.id}", None)
    assert data["questions"] == [
        {
            "header": "",
            "question": "Which cache?",
            "options": [{"label": "Redis", "description": "has pub/sub"}],
            "multiSelect": False,
            "custom": True,
        }
    ]


async def test_the_same_thing_sent_again_has_the_same_id(receiver: Receiver) -> None:
    channel = receiver.channel()
    references = [await channel.show(VIEW, "ops") for _ in range(2)]
    for reference in references:
        await channel.refresh(reference, VIEW)
    await channel.tell(references[0], "Still waiting.")
    await channel.close()
    assert (receiver.ids[0], receiver.ids[2]) == (receiver.ids[1], receiver.ids[3])
    assert len(set(receiver.ids)) == 3
    assert receiver.received[-1]["data"]["line"] == "Still waiting."


async def test_a_message_that_was_taken_without_a_reply_learns_the_answer_too(
    receiver: Receiver, tmp_path: Path
) -> None:
    async with a_house(receiver, tmp_path) as house:
        receiver.forgets_to_reply = True
        inquiry = await house.ask(options=["Redis", "Memcached"])
        await receiver.until(lambda: len(receiver.messages()) == 1)
        await house.broker.receive(inquiry.id, Reply(text="Redis", via="web"), WEB)
        receiver.forgets_to_reply = False
        await receiver.until(lambda: not receiver.messages()[0].answerable)
        said = [event.type for event in await house.broker.store.events(0)]
        (delivery,) = await house.dispatch.deliveries(inquiry.id)
    (message,) = receiver.messages()
    assert "Redis — by web" in message.text
    # The program may as well have never seen the question: the log does not say that it was shown.
    assert "shown" not in said
    assert delivery["shown_at"] is None


@pytest.mark.parametrize("status", [300, 302, 400, 404, 410, 422])
async def test_a_no_is_for_good(receiver: Receiver, status: int) -> None:
    receiver.status, receiver.headers = status, {"location": "http://127.0.0.1:1/elsewhere"}
    channel = receiver.channel()
    with pytest.raises(Refused, match=str(status)):
        await channel.show(VIEW, "ops")
    assert [finding.ok for finding in await channel.check()] == [False]
    await channel.close()


@pytest.mark.promise("trust/47")
@pytest.mark.parametrize("status", [401, 403, 407])
async def test_a_no_to_the_signature_means_that_the_channel_is_down(receiver: Receiver, status: int) -> None:
    receiver.status = status
    channel = receiver.channel()
    with pytest.raises(SignedOut, match=str(status)):
        await channel.show(VIEW, "ops")
    await channel.close()


@pytest.mark.parametrize(
    ("status", "after"), [(408, None), (425, None), (429, 7), (500, None), (502, None), (503, None)]
)
async def test_what_may_work_later_is_tried_again_and_who_is_busy_says_when(
    receiver: Receiver, status: int, after: float | None
) -> None:
    receiver.status, receiver.headers = status, {"retry-after": "7"}
    channel = receiver.channel()
    with pytest.raises(Unavailable) as caught:
        await channel.tell(Reference(place="ops", message="m"), "x")
    assert caught.value.after == after
    await channel.close()


async def test_an_address_that_cannot_be_reached_is_unavailable() -> None:
    channel = Webhook(url="http://127.0.0.1:1/hook", secret=SECRET)
    with pytest.raises(Unavailable, match="cannot be reached"):
        await channel.show(VIEW, "ops")
    await channel.close()


async def test_what_is_not_signed_just_now_by_us_changes_nothing(receiver: Receiver, tmp_path: Path) -> None:
    async with a_house(receiver, tmp_path) as house:
        asked = await house.ask(options=["Redis", "Memcached"])
        document = {"inquiry": asked.id, "answers": [["Redis"]], "user": receiver.known}
        body = json.dumps(document).encode()
        old, ahead = str(int(time.time()) - 400), str(int(time.time()) + 400)
        refused = [
            await receiver.call(document, webhook_signature="v1,bm9uc2Vuc2U="),
            await receiver.call(document, webhook_signature=""),
            await receiver.call(document, webhook_id="another"),
            await receiver.call(document, webhook_timestamp="soon"),
            await receiver.call(
                document,
                webhook_id="a",
                webhook_timestamp=old,
                webhook_signature=signature("a", old, body),
            ),
            await receiver.call(
                document,
                webhook_id="a",
                webhook_timestamp=ahead,
                webhook_signature=signature("a", ahead, body),
            ),
            await receiver.call(
                document,
                webhook_signature=signature("a", str(int(time.time())), body, b"another key"),
            ),
        ]
        assert [response.status_code for response in refused] == [401] * 7
        assert (await house.broker.store.get(asked.id)).is_open


@pytest.mark.parametrize(
    "document",
    [
        b"nonsense",
        b"[" * 100_000,
        [],
        {"text": "x"},
        {"user": 7, "text": "x"},
        {"user": "", "text": "x"},
        {"user": "x" * 201, "text": "x"},
        {"user": "U1"},
        {"user": "U1", "text": "x", "answers": []},
        {"user": "U1", "text": 7},
        {"user": "U1", "inquiry": 7, "text": "x"},
        {"user": "U1", "inquiry": "nothing", "answers": [["x"]]},
        {"user": "U1", "answers": [["x"]]},
    ],
)
async def test_what_is_signed_and_not_understood_is_told_so(
    receiver: Receiver, tmp_path: Path, document: object
) -> None:
    async with a_house(receiver, tmp_path):
        response = await receiver.call(document)
        assert response.status_code == 400
        assert set(response.json()) == {"error", "hint"}


@pytest.mark.parametrize("answers", ["Redis", [], ["Redis"], [[1]], [["a", "b"]], [["Redis"], ["x"]]])
async def test_answers_that_do_not_fit_change_nothing(
    receiver: Receiver, tmp_path: Path, answers: object
) -> None:
    async with a_house(receiver, tmp_path) as house:
        asked = await house.ask(options=["Redis", "Memcached"])
        response = await receiver.call({"inquiry": asked.id, "answers": answers, "user": receiver.known})
        assert response.status_code == 400
        assert (await house.broker.store.get(asked.id)).is_open


async def test_several_signatures_may_come_and_one_has_to_be_right(
    receiver: Receiver, tmp_path: Path
) -> None:
    async with a_house(receiver, tmp_path) as house:
        asked = await house.ask(options=["Redis", "Memcached"])
        document = {"inquiry": asked.id, "answers": [["own words"]], "user": receiver.known}
        moment = str(int(time.time()))
        right = signature("a", moment, json.dumps(document).encode())
        response = await receiver.call(
            document,
            webhook_id="a",
            webhook_timestamp=moment,
            webhook_signature=f"v2,x v1,bm8= {right}",
        )
        assert response.json() == {"accepted": True, "line": None}
        assert await house.answers(asked) == [["own words"]]


def test_a_signature_is_that_of_the_specification() -> None:
    key = key_in("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    made = headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330.9, body)
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert is_genuine(key, made, 1614265330, body)
    assert not is_genuine(key, made, 1614265330, body + b" ")
    assert key_in("as it is") == b"as it is"
    with pytest.raises(ValueError, match="base 64"):
        key_in("whsec_!")
