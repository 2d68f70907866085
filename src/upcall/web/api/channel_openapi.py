"""Channels and people in the OpenAPI document."""

from upcall.web.api.describing import Document, given, operation, path, taken
from upcall.web.api.schemas import FLAG, MOMENT, TEXT, TEXT_OR_NULL, Schema, form, list_of, record, ref

_NAME = path("name", TEXT)


def channel_paths() -> Document:
    """Every route under `/v1/people` and `/v1/channels`, and the links with which people answer."""
    return {
        "/v1/inquiries/{name}/links": {
            "post": operation(
                "Make a link with which one person can answer it, once (person for themselves, admin)",
                {"201": given("The link.", ref("AnswerLink"))},
                tag="answering",
                parameters=[_NAME],
                body=taken(ref("AnswerLinkForm"), {"person": "ana"}),
            )
        },
        "/v1/people": {
            "get": operation(
                "List who may answer in channels (admin)",
                {"200": given("Everybody, by name.", ref("PersonList"))},
                tag="channels",
            ),
            "post": operation(
                "Let somebody answer in channels, or give them another code (admin)",
                {"201": given("A code that they send to the app, once.", ref("Enrolment"))},
                tag="channels",
                body=taken(ref("PersonForm"), {"name": "ana"}),
            ),
        },
        "/v1/people/{name}": {
            "delete": operation(
                "Let somebody answer in channels no more (admin)",
                {"200": given("They cannot, from now on.", ref("Removed"))},
                tag="channels",
                parameters=[_NAME],
            )
        },
        "/v1/channels": {
            "get": operation(
                "List channels (person or admin)",
                {"200": given("Every channel that is set up.", ref("ChannelList"))},
                tag="channels",
            )
        },
        "/v1/channels/{name}/test": {
            "post": operation(
                "Check a channel and ask a test question there (admin)",
                {"200": given("What was found, and the question.", ref("ChannelTest"))},
                tag="channels",
                parameters=[_NAME],
                body=taken(ref("ChannelTestForm"), {"place": "C0123456789"}),
            )
        },
    }


def channel_schemas() -> Schema:
    """The shapes of people and channels."""
    identity = record({"channel": TEXT, "user": TEXT})
    person = record({"name": TEXT, "added_at": MOMENT, "identities": list_of(identity)})
    sides = {"enum": ["sending", "listening"]}
    fault = record({"side": sides, "problem": TEXT, "since": MOMENT, "hint": TEXT})
    channel = record({"name": TEXT, "places": list_of(TEXT), "faults": list_of(fault)})
    finding = record({"ok": FLAG, "text": TEXT, "hint": TEXT_OR_NULL})
    return {
        "AnswerLink": record({"url": TEXT, "person": TEXT, "expires_at": MOMENT}),
        "AnswerLinkForm": form({"person": TEXT}),
        "Person": person,
        "PersonList": record({"items": list_of(ref("Person")), "next": TEXT_OR_NULL}),
        "PersonForm": form({"name": TEXT, "channel": TEXT, "user": TEXT}, required=("name",)),
        "Enrolment": record({"name": TEXT, "code": TEXT, "expires_at": MOMENT}),
        "Removed": record({"name": TEXT, "removed": {"const": True}}),
        "Channel": channel,
        "ChannelList": record({"items": list_of(ref("Channel")), "next": TEXT_OR_NULL}),
        "ChannelTestForm": form({"place": TEXT}),
        "ChannelTest": record({"findings": list_of(finding), "place": TEXT_OR_NULL, "inquiry": TEXT_OR_NULL}),
    }
