"""The daemon itself, and whom it knows: tokens, links, rules, people, channels, errors."""

from upcall.domain.roles import Role
from upcall.http.errors import STATUSES
from upcall.web.api.schemas.inquiries import WAY
from upcall.web.api.schemas.words import (
    DURATION,
    FLAG,
    MOMENT,
    TEXT,
    TEXT_OR_NULL,
    Schema,
    form,
    list_of,
    noted,
    page_of,
    record,
)

TOKEN: Schema = {"name": TEXT, "role": {"enum": [role.value for role in Role]}}


def service_schemas() -> dict[str, Schema]:
    """Every named schema that is about no inquiry, run or thread."""
    error = record({"code": {"enum": [*STATUSES, "http_error"]}, "message": TEXT, "hint": TEXT_OR_NULL})
    return {
        "Error": record({"error": error}),
        "Health": record({"status": {"enum": ["ok", "stopping"]}, "service": TEXT, "version": TEXT}),
        "Backup": record({"path": TEXT}),
        "BackupForm": form({"path": noted(TEXT, "Absolute.")}, required=("path",)),
        "Me": record(TOKEN),
        "SignInLink": record({"url": TEXT, "expires_in": {"type": "integer", "description": "Seconds."}}),
        "Token": record({**TOKEN, "created_at": MOMENT}),
        "TokenList": page_of("Token"),
        "TokenForm": form(TOKEN, required=("name", "role")),
        "NewToken": record({**TOKEN, "token": noted(TEXT, "The secret, shown this once.")}),
        "Revoked": record({"name": TEXT, "revoked": FLAG}),
        **_rules(),
        **_people(),
        **_channels(),
    }


def _rules() -> dict[str, Schema]:
    return {
        "Rule": record(
            {
                "id": TEXT,
                "as": WAY,
                "agent": noted(TEXT_OR_NULL, "Any agent when there is none."),
                "tool": TEXT_OR_NULL,
                "directory": TEXT_OR_NULL,
                "prefix": TEXT_OR_NULL,
                "shown": noted(TEXT, "What it was made from."),
                "sha256": noted(TEXT_OR_NULL, "Of the very action that it allows."),
                "by": TEXT,
                "inquiry": TEXT_OR_NULL,
                "made_at": MOMENT,
                "expires_at": MOMENT,
                "active": FLAG,
            }
        ),
        "RuleList": page_of("Rule"),
        "RuleForm": form(
            {"agent": TEXT, "tool": TEXT, "directory": TEXT, "prefix": TEXT, "for": DURATION},
            description="What it allows meets every condition given; it needs a tool, a directory or a prefix.",
        ),
        "RevokedRule": record({"id": TEXT, "revoked": FLAG}),
    }


def _people() -> dict[str, Schema]:
    identity = record({"channel": TEXT, "user": TEXT})
    return {
        "AnswerLink": record({"url": TEXT, "person": TEXT, "expires_at": MOMENT}),
        "AnswerLinkForm": form({"person": TEXT}),
        "Person": record({"name": TEXT, "added_at": MOMENT, "identities": list_of(identity)}),
        "PersonList": page_of("Person"),
        "PersonForm": form({"name": TEXT, "channel": TEXT, "user": TEXT}, required=("name",)),
        "Enrolment": record({"name": TEXT, "code": TEXT, "expires_at": MOMENT}),
        "Removed": record({"name": TEXT, "removed": {"const": True}}),
    }


def _channels() -> dict[str, Schema]:
    sides: Schema = {"enum": ["sending", "listening"]}
    fault = record({"side": sides, "problem": TEXT, "since": MOMENT, "hint": TEXT})
    finding = record({"ok": FLAG, "text": TEXT, "hint": TEXT_OR_NULL})
    return {
        "Channel": record({"name": TEXT, "places": list_of(TEXT), "faults": list_of(fault)}),
        "ChannelList": page_of("Channel"),
        "ChannelTestForm": form({"place": TEXT}),
        "ChannelTest": record({"findings": list_of(finding), "place": TEXT_OR_NULL, "inquiry": TEXT_OR_NULL}),
    }
