"""`upcall hook away gemini` and `upcall hook away copilot EVENT`: programs that show a dialog only when their hook has ended.

So a hook of theirs waits only while the person is away, and the first key ends it. It runs in the process of a hook, and loads little.
"""

import json
import time
from collections.abc import Mapping, Sequence

from upcall.doors.terminal.programs import COPILOT, GEMINI

QUESTION = "ask_user"
ALONE = {
    COPILOT: frozenset({"-p", "--prompt", "--acp", "--headless", "--server"}),
    GEMINI: frozenset({"-p", "--prompt", "--acp", "--experimental-acp"}),
}
"""Flags with which each program shows no dialogs."""

ALL_ALLOWED = frozenset({"--allow-all-tools", "--allow-all", "--yolo"})
ANSWERED = "The user is away from this terminal and answered from elsewhere: {said}"
NEWEST = 1024 * 1024
"""Bytes at the end of a transcript among which its last words are."""

BEHIND = 1.0
"""Seconds for which a transcript may be behind the end of a turn."""

LOOK_EVERY = 0.02
SPOKEN = frozenset({"assistant.message"})
UNFINISHED = frozenset({"user.message", "tool.execution_start", "tool.execution_complete"})
"""What a turn does not end with: the model still has to say something."""

FINISHED = frozenset({"agentStop", "AfterAgent"})
USING = frozenset({"preToolUse", "BeforeTool"})

Event = Mapping[str, object]


def is_asked(
    program: str, name: str, event: Event, words: Sequence[str], environment: Mapping[str, str]
) -> bool:
    """Whether the program would show a dialog, as far as its command line tells: its hook comes before it looks at its rules."""
    flags = {word.partition("=")[0] for word in words[1:]}
    # The hook of a subagent's end says whose subagent it is: its agent goes on, and no prompt waits for words.
    if flags & ALONE[program] or (name in FINISHED and event.get("parentAgentId")):
        return False
    if name in USING:
        return QUESTION in (event.get("toolName"), event.get("tool_name"))
    return name != "permissionRequest" or not (flags & ALL_ALLOWED or environment.get("COPILOT_ALLOW_ALL"))


def told(name: str, event: Event) -> dict[str, object]:
    """The event with its name; at the end of a turn of Copilot CLI also with its last words and which turn it was."""
    if name != "agentStop":
        return {**event, "event": name}
    identifier, words = _last_words(str(event.get("transcriptPath", "")))
    return {**event, "event": name, "words": words, "turn": identifier}


def output(program: str, name: str, reply: Event) -> Mapping[str, object]:
    """What the program reads; empty where nothing was decided."""
    decision = reply.get("decision")
    if name in FINISHED:
        return {"decision": "block", "reason": reply["said"]} if reply.get("said") else {}
    if not isinstance(decision, Mapping):
        return {}
    if name in USING:
        given = decision.get("answers")
        said = "; ".join(", ".join(values) for values in given) if isinstance(given, list) else ""
        reason = ANSWERED.format(said=said) if said else decision.get("reason")
        # A tool that is denied shows no dialog, and the model reads why.
        if program == GEMINI:
            return {"decision": "deny", "reason": reason}
        return {"permissionDecision": "deny", "permissionDecisionReason": reason}
    if decision.get("allowed"):
        return {"behavior": "allow"}
    return {"behavior": "deny", "message": decision.get("reason")}


def _last_words(transcript: str) -> tuple[str, str]:
    """The id and the words of the message that the turn ended with; both empty where the transcript does not tell."""
    # Copilot CLI writes its transcript beside its work, and starts this hook without waiting for that.
    until = time.monotonic() + BEHIND
    found = _ended_with(transcript)
    while found is None and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
        found = _ended_with(transcript)
    return found or ("", "")


def _ended_with(transcript: str) -> tuple[str, str] | None:
    """The id and the words of the model's last message; None while something else is the last that was done."""
    try:
        with open(transcript, "rb") as file:  # noqa: PTH123 - pathlib costs more than the rest
            file.seek(max(file.seek(0, 2) - NEWEST, 0))
            lines = file.read().splitlines()
    except OSError:
        return "", ""
    for line in reversed(lines):
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the line that was cut, or is being written
        if not isinstance(entry, dict) or entry.get("type") not in SPOKEN | UNFINISHED:
            continue
        data = entry.get("data")
        said = data if isinstance(data, dict) else {}
        if entry["type"] in UNFINISHED or said.get("toolRequests"):
            return None
        return str(entry.get("id") or ""), str(said.get("content") or "")
    return None
