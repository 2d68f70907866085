"""A form that another MCP server wants filled in, which Claude Code hands to its `Elicitation` hook, put to a desk."""

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from upcall.agents.acp.elicitation import NotFilledIn, fields_of
from upcall.agents.acp.requests import question_groups
from upcall.doors.native import Fields
from upcall.ports.agent import Desk

ELICITATION = "Elicitation"
FORM = "form"
MOST_TRIES = 5
"""How often a person is asked for a value that the form takes."""

LONGEST_SERVER = 100


def unnamed(event: Fields) -> Fields:
    """The event with what tells one form of a turn from another, in place of a tool and its input."""
    given = {name: event.get(name) for name in ("mcp_server_name", "message", "requested_schema")}
    return {**event, "tool_name": ELICITATION, "tool_input": given}


async def filled_in(
    event: Fields, key: str, desk: Desk, wait: float, told: Callable[[str], Awaitable[object]]
) -> Mapping[str, object]:
    """The hook's output: the form as a person has filled it in, or that they declined; silence cancels it.

    `told` gets the id of each inquiry that was answered: the server hears of it, and no result of a tool will show that.
    """
    schema = event.get("requested_schema")
    server = str(event.get("mcp_server_name") or "another server")[:LONGEST_SERVER]
    message = f"{event.get('message') or 'A form is to be filled in.'} (asked by the MCP server {server})"
    fields = fields_of(cast("Fields", schema)) if isinstance(schema, Mapping) else []
    content: dict[str, object] = {}
    for number, group in enumerate(question_groups(message, fields)):
        problem = ""
        for attempt in range(MOST_TRIES):
            outcome = await desk.ask(group.asked(problem), f"{key}:{number}:{attempt}", wait=wait)
            if outcome.status == "answered":
                await told(outcome.id)
            if outcome.answers is None:
                return _output("decline" if outcome.status == "rejected" else "cancel")
            try:
                content |= group.content(outcome.answers)
            except NotFilledIn as unfit:
                problem = str(unfit)
            else:
                break
        else:
            return _output("cancel")
    return _output("accept", content=content)


def _output(action: str, **more: object) -> Mapping[str, object]:
    return {"hookSpecificOutput": {"hookEventName": ELICITATION, "action": action, **more}}
