"""What an agent is told about asking, in words that every program understands."""

from upcall.domain.run.program import Door

_ASKING = """\
No person watches you work, but you can ask one.
- Ask only when you are really blocked: by a decision that is not yours, or by something that you cannot find out \
yourself. Never ask what the files, the tools or the task can tell you, and never guess where you should ask.
- To ask, call the tool ask_human of the MCP server upcall, and not a question tool of your own. Say in `context` what \
the person needs to know, since they do not see your conversation. Offer concrete options and mark the one that you \
would take as recommended. Then wait: an answer can take hours, and the call returns with it.
- A result that says "parked" is not an answer. {parked}
- If the person declines, or does not answer in time, take the most cautious way, or stop and say what is blocking you."""

ASKING = _ASKING.format(
    parked="End your turn and say what you are waiting for; you will be continued with the answer."
)

ASKING_ONCE = _ASKING.format(
    parked="Call the tool wait_for_answer with its id, as often as needed, until the result is another one. Do not end your "
    "turn before: this session is not continued, and the answer would be lost."
)
"""For a job that ends with its process: an answer that comes later has no reader."""


def advice_of(door: Door) -> str:
    """What its owner wants an agent to be told, or else our own words."""
    return door.advice or ASKING


def with_advice(prompt: str, advice: str = ASKING) -> str:
    """A task with advice after it, for programs that have no other place for it.

    The task stays in front: what it begins with can matter to a program.
    """
    return f"{prompt}\n\n{advice}"


def marker_advice(name: str) -> str:
    """How to ask by writing a marker, for programs that are only read."""
    return f"""\
## Asking questions

No person watches you work, but you can ask one. To ask, write exactly this, as plain text:

<<{name}>>
{{"question": "Your question", "context": "What the person needs to know", "options": ["Option A", "Option B"]}}
<</{name}>>

Then stop and wait. One question at a time; `context` and `options` may be left out. You will be continued with the \
answer.

Ask only when you are really blocked and a guess would probably be wrong, never what you can find out yourself. Where \
it matters little, make a reasonable choice and say which."""
