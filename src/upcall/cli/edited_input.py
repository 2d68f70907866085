"""`--edit`: the action of an approval with some of its fields changed, as the API takes it."""

from collections.abc import Mapping, Sequence
from typing import Any

from upcall.cli.failures import CommandFailed
from upcall.cli.render.inquiries import Inquiry
from upcall.domain.approval.editing import from_text
from upcall.domain.errors import NotEditable

USAGE = 2


def edited_input(inquiry: Inquiry, edits: Sequence[str]) -> dict[str, Any]:
    """The input of the tool after these edits: `FIELD=VALUE`, or the command alone.

    Raises:
        CommandFailed: if it cannot be edited, or not like this.
    """
    given: Mapping[str, Any] | None = (inquiry["action"] or {}).get("input")
    if given is None:
        raise CommandFailed(
            f"{inquiry['ref']} cannot be edited",
            hint=f'deny it and say what to do instead: upcall answer {inquiry["ref"]} no --note "…"',
            exit_code=USAGE,
        )
    try:
        return dict(from_text(given, dict(_field(given, edit) for edit in edits)))
    except NotEditable as error:
        raise CommandFailed(error.message, hint=error.hint or "", exit_code=USAGE) from None


def _field(given: Mapping[str, Any], edit: str) -> tuple[str, str]:
    name, equals, value = edit.partition("=")
    if equals and name in given:
        return name, value
    texts = [name for name, value in given.items() if isinstance(value, str)]
    main = next((name for name in ("command", "cmd") if name in texts), None)
    if main is None and len(texts) != 1:
        raise CommandFailed(
            "this action has no command, so --edit needs the name of a field",
            hint=f"--edit FIELD=VALUE; its fields are {', '.join(given)}",
            exit_code=USAGE,
        )
    return main or texts[0], edit
