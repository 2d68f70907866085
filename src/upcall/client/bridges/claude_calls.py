"""Calls of Claude, put to a person as what they are: an action, a plan, or the questions of its own tool. No library is known here."""

from collections.abc import Mapping, Sequence
from typing import Any

from upcall.client.bridges.plans import PLAN_TOOL, put_plan
from upcall.client.bridges.putting import call_key, keyed, words
from upcall.client.client import Client
from upcall.client.outcome import Allowed, Answered, Denied, Verdict
from upcall.client.request import Option, Question, Waiting

ASK = "AskUserQuestion"

Fields = Mapping[str, Any]


async def put_call(broker: Client, tool: str, given: Fields, at: str, waiting: Waiting) -> Verdict:
    """Put a call to a person, under the key of its id; answers to questions are the input that the tool is given."""
    held = keyed(call_key("claude", at), waiting)
    if tool == PLAN_TOOL and given.get("plan"):
        return await put_plan(broker, given, held)
    if tool != ASK:
        return await broker.approve(tool, given, **held)
    questions: Sequence[Fields] = given["questions"]
    ended = await broker.ask([_question(each) for each in questions], **held)
    if not isinstance(ended, Answered):
        return Denied(reason=words(ended), by="", outcome=ended)
    answers = {
        each["question"]: ", ".join(chosen) for each, chosen in zip(questions, ended.values, strict=True)
    }
    return Allowed(input={**given, "answers": answers}, note=ended.note, by=ended.by, outcome=ended)


def of_session(session: str, waiting: Waiting) -> Waiting:
    """How a call of this session waits. Ids of calls are unique in one message alone: some models number those of a session anew."""
    return {"session": session, **waiting}


def _question(given: Fields) -> Question:
    return Question(
        question=given["question"],
        header=given.get("header", ""),
        options=[
            Option(label=each["label"], description=each.get("description", ""), preview=each.get("preview"))
            for each in given.get("options", [])
        ],
        multi=given.get("multiSelect", False),
    )
