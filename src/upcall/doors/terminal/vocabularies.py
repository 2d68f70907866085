"""The events of each program in the words of Claude Code's hooks, which this door reads.

`tool_use_id` names a dialog of Codex or opencode. What cannot be read stays as it is, and is refused by its name.
"""

from collections.abc import Callable, Mapping
from typing import cast

from upcall.agents.acp.elicitation import fields_of
from upcall.agents.codex.items import PATCH, fields_in, list_in, text_in
from upcall.agents.codex.requests import command_in, key_in, questions_for
from upcall.agents.opencode.actions import shown_input
from upcall.doors.native import QUESTION_TOOL, Fields
from upcall.doors.terminal.dialogs import FINISHED
from upcall.doors.terminal.programs import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE

ASKED = "PermissionRequest"
SPOKEN = "UserPromptSubmit"


def of_codex(event: Fields) -> Fields:
    """Codex has events of the same names. `request` is what its server asks the terminal, which its hook has found there."""
    # A dialog of a subagent stands in the terminal as well, since its hook has ended.
    told = {**event, "prompt_id": event.get("turn_id"), "agent_id": None}
    request = fields_in(event.get("request"))
    if not request:
        return told
    params = fields_in(request.get("params"))
    name = key_in(params) or f"{event.get('turn_id')}/{request.get('id')}"
    told |= {"hook_event_name": ASKED, "tool_use_id": name}
    match request.get("method"):
        case "item/commandExecution/requestApproval":
            action = command_in(params)
            return {**told, "tool_name": action.tool, "tool_input": action.input, "reason": action.reason}
        case "item/tool/requestUserInput":
            return {**told, "tool_name": QUESTION_TOOL, "tool_input": questions_for(params)}
        case "item/fileChange/requestApproval":
            # The patch is told by the hook alone, in the place of a command.
            given = fields_in(event.get("tool_input"))
            return {**told, "tool_name": PATCH, "tool_input": {"patch": given.get("command")}}
        case _:
            return told  # the hook itself has the arguments of the tool


def of_opencode(sent: Fields) -> Fields:
    """What its plugin tells: an event of opencode's bus, with the session, the folder and what the plugin read about it."""
    about = cast("Fields", sent["about"]) if isinstance(sent.get("about"), Mapping) else {}
    told = {
        "session_id": sent.get("session"),
        "cwd": sent.get("directory"),
        "tool_use_id": about.get("id"),
        "hook_event_name": sent.get("type"),
    }
    match sent.get("type"):
        case "permission.asked":
            tool = text_in(about.get("permission"))
            shown = shown_input(about, fields_in(sent.get("input")))
            return {**told, "hook_event_name": ASKED, "tool_name": tool, "tool_input": shown}
        case "question.asked":
            given = {"questions": about.get("questions")}
            return {**told, "hook_event_name": ASKED, "tool_name": QUESTION_TOOL, "tool_input": given}
        case "session.idle":
            words = {"last_assistant_message": sent.get("words"), "prompt_id": sent.get("message")}
            return {**told, "hook_event_name": FINISHED, **words}
        case "session.busy":
            return {**told, "hook_event_name": SPOKEN}
        case _:
            return told


def of_gemini(event: Fields) -> Fields:
    """Gemini CLI has events of its own, in the words of Claude Code's."""
    told = {**event, "prompt_id": event.get("timestamp")}
    match event.get("event"):
        case "BeforeTool":
            asked = list_in(fields_in(event.get("tool_input")).get("questions"))
            given = {"questions": [_question_of_gemini(fields_in(each)) for each in asked]}
            return {**told, "hook_event_name": ASKED, "tool_name": QUESTION_TOOL, "tool_input": given}
        case "AfterAgent":
            words = event.get("prompt_response")
            return {**told, "hook_event_name": FINISHED, "last_assistant_message": words}
        case "BeforeAgent":
            return {**told, "hook_event_name": SPOKEN}
        case _:
            return told


def _question_of_gemini(asked: Fields) -> Fields:
    options = asked.get("options")
    if asked.get("type") == "yesno":
        options = [{"label": "Yes"}, {"label": "No"}]
    return {
        "question": asked.get("question"),
        "header": asked.get("header") or "",
        "options": options or [],
        "multiSelect": asked.get("multiSelect") is True,
    }


def of_copilot(sent: Fields) -> Fields:
    """What Copilot CLI gives its hooks, with the event's name, and at the end of a turn its last words and which turn it was."""
    told = {
        "session_id": sent.get("sessionId"),
        "cwd": sent.get("cwd"),
        "prompt_id": sent.get("turn"),
        "hook_event_name": sent.get("event"),
    }
    match sent.get("event"):
        case "permissionRequest":
            given = sent.get("toolInput")
            return {**told, "hook_event_name": ASKED, "tool_name": sent.get("toolName"), "tool_input": given}
        case "preToolUse":
            given = _questions_of_copilot(fields_in(sent.get("toolArgs")))
            return {**told, "hook_event_name": ASKED, "tool_name": QUESTION_TOOL, "tool_input": given}
        case "agentStop":
            return {**told, "hook_event_name": FINISHED, "last_assistant_message": sent.get("words")}
        case "userPromptSubmitted":
            return {**told, "hook_event_name": SPOKEN}
        case _:
            return told


def _questions_of_copilot(asked: Fields) -> Fields:
    """Its form as questions, which takes other words in any field, or its plain question with choices."""
    if "question" in asked:
        options = [{"label": each} for each in list_in(asked.get("choices")) if isinstance(each, str)]
        return {"questions": [{"question": asked["question"], "header": "", "options": options}]}
    message = text_in(asked.get("message"))
    form = fields_in(asked.get("requestedSchema"))
    # No field says that it can be left out, and none is there for the other words of another.
    match fields_of({**form, "required": list(fields_in(form.get("properties")))}):
        case []:
            return {"questions": [{"question": message, "header": "", "options": []}]}
        case [field]:
            return {"questions": [{**field.question(message), "custom": True}]}
        case fields:
            questions = [{**field.question(), "custom": True} for field in fields]
            return {"questions": questions, "context": message}


VOCABULARIES: Mapping[str, Callable[[Fields], Fields]] = {
    CLAUDE: lambda event: event,
    CODEX: of_codex,
    OPENCODE: of_opencode,
    GEMINI: of_gemini,
    COPILOT: of_copilot,
}
