"""Web Push against a push service of our own, which can read what is sealed for one browser."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.channels.push_device import Device
from upcall.channels.push.channel import Push, new_key, payload
from upcall.channels.words import sentences
from upcall.domain.channel import degrading
from upcall.domain.channel.showing import Reference, View
from upcall.domain.channel.subscription import Subscription
from upcall.domain.inquiry.inquiry import Attachment, Inquiry, Kind, Question
from upcall.ports.channel import Refused, SignedOut, Unavailable
from upcall.testing.examples import an_inquiry, answering

pytestmark = pytest.mark.promise("spec/84")


@dataclass
class Service:
    """A push service, and people with the browsers that it knows."""

    url: str = ""
    status: int = 201
    headers: dict[str, str] = field(default_factory=dict)
    received: list[tuple[str, bytes, Mapping[str, str]]] = field(default_factory=list)
    people: dict[str, list[Device]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    _keys: tuple[str, str] = field(default_factory=new_key)

    async def take(self, request: web.Request) -> web.Response:
        self.received.append((request.path, await request.read(), request.headers))
        gone = request.path.startswith("/gone")
        return web.Response(status=410 if gone else self.status, headers=self.headers)

    async def keys(self) -> tuple[str, str]:
        return self._keys

    async def of(self, person: str) -> Sequence[Subscription]:
        return [device.subscription(self.url) for device in self.people.get(person, [])]

    async def drop(self, endpoint: str) -> None:
        self.dropped.append(endpoint.removeprefix(self.url))


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    made = Service()
    app = web.Application()
    app.router.add_post("/{name}", made.take)
    server = TestServer(app)
    await server.start_server()
    made.url = str(server.make_url("")).rstrip("/")
    yield made
    await server.close()


def shown(inquiry: Inquiry) -> View:
    return degrading.view(inquiry, Push.capabilities, sentences("en"))


async def test_a_question_reaches_every_browser_of_a_person_and_no_other(service: Service) -> None:
    desk, phone = Device("/desk"), Device("/phone")
    service.people = {"ana": [desk, phone], "ben": [Device("/other")]}
    inquiry = an_inquiry()
    reference = await Push(service, "mailto:ana@example.org").show(shown(inquiry), "ana")
    assert reference.place == "ana"
    assert [path for path, _, _ in service.received] == ["/desk", "/phone"]
    for device, (_, sealed, headers) in zip((desk, phone), service.received, strict=True):
        told = device.read(sealed)
        assert told["body"] == "│ Which colour?"
        assert told["tag"] == inquiry.id
        assert told["quiet"] is False
        assert b"colour" not in sealed
        assert headers["Authorization"].startswith("vapid t=")
        assert headers["ttl"] == "86400"


async def test_how_it_ended_takes_its_place_without_a_sound(service: Service) -> None:
    phone = Device("/phone")
    service.people = {"ana": [phone]}
    step = answering("Blue")(an_inquiry())
    assert step is not None
    await Push(service, "mailto:ana@example.org").refresh(
        Reference(place="ana", message="x@ana"), shown(step.inquiry)
    )
    told = phone.read(service.received[0][1])
    assert "Blue" in str(told["body"])
    assert (told["tag"], told["quiet"]) == (step.inquiry.id, True)


async def test_of_a_secret_question_only_its_name_is_sent(service: Service) -> None:
    phone = Device("/phone")
    service.people = {"ana": [phone]}
    secret = an_inquiry(secret=True)
    channel = Push(service, "mailto:ana@example.org")
    await channel.show(shown(secret), "ana")
    step = answering("hunter2")(secret)
    assert step is not None
    await channel.refresh(Reference(place="ana", message="x@ana"), shown(step.inquiry))
    for _, sealed, _ in service.received:
        told = json.dumps(phone.read(sealed))
        assert "colour" not in told
        assert "hunter2" not in told


async def test_a_text_without_end_is_cut(service: Service) -> None:
    phone = Device("/phone")
    service.people = {"ana": [phone]}
    inquiry = an_inquiry(context="x" * 16_000)
    await Push(service, "mailto:ana@example.org").show(shown(inquiry), "ana")
    assert len(service.received[0][1]) < 4096


async def test_a_browser_that_is_gone_is_forgotten(service: Service) -> None:
    phone = Device("/phone")
    service.people = {"ana": [Device("/gone"), phone]}
    await Push(service, "mailto:ana@example.org").show(shown(an_inquiry()), "ana")
    assert service.dropped == ["/gone"]
    service.people = {"ana": [Device("/gone")]}
    with pytest.raises(Refused):
        await Push(service, "mailto:ana@example.org").show(shown(an_inquiry()), "ana")


async def test_keys_that_are_none_are_forgotten(service: Service) -> None:
    class Broken(Device):
        def subscription(self, url: str) -> Subscription:  # type: ignore[explicit-override]  # 3.11 has none
            return Subscription(endpoint=f"{url}/phone", p256dh="AAAA", auth="AAAA")

    service.people = {"ana": [Broken("/phone")]}
    with pytest.raises(Refused):
        await Push(service, "mailto:ana@example.org").show(shown(an_inquiry()), "ana")
    assert service.dropped == ["/phone"]


@pytest.mark.parametrize(("status", "after"), [(429, 7.0), (500, 7.0), (503, 7.0)])
async def test_a_service_that_is_busy_says_when_it_wants_to_be_asked_again(
    service: Service, status: int, after: float
) -> None:
    service.people, service.status = {"ana": [Device("/phone")]}, status
    service.headers = {"Retry-After": "7"}
    with pytest.raises(Unavailable) as raised:
        await Push(service, "mailto:ana@example.org").show(shown(an_inquiry()), "ana")
    assert raised.value.after == after
    assert service.dropped == []


async def test_a_service_that_refuses_or_is_away_is_told_apart(service: Service) -> None:
    channel = Push(service, "mailto:ana@example.org")
    service.people, service.status = {"ana": [Device("/phone")]}, 400
    with pytest.raises(Refused):
        await channel.show(shown(an_inquiry()), "ana")
    service.status = 403
    with pytest.raises(SignedOut):
        await channel.show(shown(an_inquiry()), "ana")
    service.url = "http://127.0.0.1:9"
    with pytest.raises(Unavailable):
        await channel.show(shown(an_inquiry()), "ana")


async def test_a_person_who_has_allowed_nothing_cannot_be_told(service: Service) -> None:
    with pytest.raises(Refused, match="no browser of 'cleo'"):
        await Push(service, "mailto:ana@example.org").show(shown(an_inquiry()), "cleo")


LINK = "https://upcall.example/a/signed"


def approval(action: str, context: str = "", **more: object) -> Inquiry:
    return an_inquiry(questions=(Question(text=action),), kind=Kind.APPROVAL, context=context, **more)


@pytest.mark.promise("desk/31")
def test_an_action_that_is_shown_whole_can_be_decided_where_it_is_shown() -> None:
    inquiry = approval("terraform apply", "Tool: Bash\nDirectory: /srv/shop")
    told = payload(degrading.view(inquiry, Push.capabilities, sentences("en"), LINK), quiet=False)
    assert told["body"] == "│ terraform apply\n│ Tool: Bash\n│ Directory: /srv/shop"
    assert told["actions"] == [
        {"action": "approve", "title": "Approve"},
        {"action": "deny", "title": "Deny"},
    ]
    assert told["answer"] == "/a/signed"


@pytest.mark.promise("desk/31")
@pytest.mark.parametrize(
    ("inquiry", "link"),
    [
        (approval("rm -rf build && " + "x" * 160), LINK),
        (approval("make", "a\nb\nc\nd"), LINK),
        (approval("删" * 81), LINK),
        (approval("make", secret=True), LINK),
        (
            approval(
                "make", attachments=(Attachment(name="a", size=1, media_type="text/plain", digest="d"),)
            ),
            LINK,
        ),
        (an_inquiry(), LINK),
        (approval("make"), "https://upcall.example/i/one"),
        (approval("make"), ""),
    ],
)
def test_nothing_can_be_decided_where_it_is_not_whole_or_no_approval(inquiry: Inquiry, link: str) -> None:
    told = payload(degrading.view(inquiry, Push.capabilities, sentences("en"), link), quiet=False)
    assert "actions" not in told
    assert "answer" not in told
