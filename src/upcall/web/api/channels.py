"""Channels and the people who answer in them, over HTTP. Who may answer is for administrators to say."""

from starlette.responses import Response

from upcall.broker.broker import Broker
from upcall.dispatch.dispatcher import Dispatch
from upcall.dispatch.people import CODE_SECONDS, People, Person
from upcall.dispatch.trial import tried
from upcall.domain.document import timestamp
from upcall.domain.errors import InvalidRequest, UnknownChannel
from upcall.http.body import Json
from upcall.web import fields
from upcall.web.call import Call

EXAMPLE = '{"name": "ana"}'


class PeopleHandlers:
    """The handlers of everything under `/v1/people`."""

    def __init__(self, broker: Broker, dispatch: Dispatch | None) -> None:
        self._broker = broker
        self._dispatch = dispatch
        self._people = People(broker.store, broker.now)

    async def list(self, call: Call) -> Response:
        """List who may answer in channels."""
        call.query()
        return Json({"items": [_person(person) for person in await self._people.all()], "next": None})

    async def add(self, call: Call) -> Response:
        """Let a person answer in channels, or give them another code."""
        body = await call.body()
        name = fields.required_text(body, "name", example=EXAMPLE)
        channel, user = fields.text(body, "channel"), fields.text(body, "user")
        if (channel is None) != (user is None):
            raise InvalidRequest(
                "channel and user go together", hint='for example {"channel": "slack", "user": "U0123456789"}'
            )
        identities = []
        if channel is not None and user is not None:
            user = user if self._dispatch is None else self._dispatch.spelled(channel, user)
            identities = [(channel, user)]
        code = await self._people.add(name, identities)
        expires_at = timestamp(self._broker.now() + CODE_SECONDS)
        accounts = {} if self._dispatch is None or identities else await self._dispatch.accounts()
        apps = [{"channel": each, "account": account or None} for each, account in accounts.items()]
        return Json({"name": name, "code": code, "expires_at": expires_at, "apps": apps}, 201)

    async def remove(self, call: Call) -> Response:
        """Let a person answer in channels no more."""
        await self._people.remove(call.name)
        return Json({"name": call.name, "removed": True})


class ChannelHandlers:
    """The handlers of everything under `/v1/channels`."""

    def __init__(self, dispatch: Dispatch | None) -> None:
        self._dispatch = dispatch

    async def list(self, call: Call) -> Response:
        """List channels."""
        call.query()
        items = (
            []
            if self._dispatch is None
            else [await _channel(self._dispatch, name) for name in self._dispatch.names]
        )
        return Json({"items": items, "next": None})

    async def test(self, call: Call) -> Response:
        """Check a channel and ask a test question there."""
        body = await call.body()
        place = fields.text(body, "place")
        if self._dispatch is None:
            raise UnknownChannel(call.name)
        trial = await tried(self._dispatch, call.name, call.caller.name, place)
        found = [
            {"ok": finding.ok, "text": finding.text, "hint": finding.hint or None}
            for finding in trial.findings
        ]
        return Json({"findings": found, "place": trial.place, "inquiry": trial.inquiry})


async def _channel(dispatch: Dispatch, name: str) -> dict[str, object]:
    faults = [fault.document(name) for fault in await dispatch.faults(name)]
    return {"name": name, "places": dispatch.places(name), "faults": faults}


def _person(person: Person) -> dict[str, object]:
    identities = [{"channel": channel, "user": user} for channel, user in person.identities]
    return {"name": person.name, "added_at": timestamp(person.added_at), "identities": identities}
