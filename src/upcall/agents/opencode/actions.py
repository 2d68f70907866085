"""What a permission of opencode is asked for, as a person is shown it: in a run and in a session of one's own."""

from upcall.agents.opencode.parts import Json, mapping, text

SHELL = "bash"


def shown_input(permission: Json, given: Json) -> dict[str, object]:
    """The input of the tool, beside what the permission tells about it."""
    shown = {**mapping(permission.get("metadata")), **given}
    if permission.get("permission") != SHELL or not text(given.get("command")):
        # Those of a command are made of the command itself, and would only make it another one each time.
        shown["patterns"] = permission.get("patterns")
    return shown
