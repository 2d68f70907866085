"""A program that speaks like Claude Code in print mode, and asks by a marker: what it does depends on its task.

It writes what it was started with into `calls.jsonl` beside its work.
"""

import json
import sys
from pathlib import Path

QUESTION = {
    "question": "Should I use Redis or Memcached for the caching layer?",
    "context": "Both are available in the project dependencies.",
    "options": ["Redis (recommended)", "Memcached", "Other"],
}


def tell(**event: object) -> None:
    """Write a line of the stream."""
    sys.stdout.write(f"{json.dumps(event)}\n")
    sys.stdout.flush()


def say(text: str, number: int) -> None:
    """Let the model speak."""
    message = {"id": f"m{number}", "content": [{"type": "text", "text": text}], "usage": {"input_tokens": 5}}
    tell(type="assistant", message=message)


def marker(**fields: object) -> str:
    return f"<<GZA_QUESTION>>\n{json.dumps({**QUESTION, **fields})}\n<</GZA_QUESTION>>"


argv = sys.argv[1:]
if "--version" in argv:
    sys.stdout.write("2.1.325 (Claude Code)\n")
    sys.exit()
words = sys.stdin.read()
resumed = "--resume" in argv
session = argv[argv.index("--resume" if resumed else "--session-id") + 1]
with Path("calls.jsonl").open("a") as calls:
    calls.write(json.dumps({"argv": argv, "stdin": words, "cwd": str(Path.cwd())}) + "\n")
tell(type="system", subtype="init", session_id=session)
if resumed:
    say(f"Now I know: {words.splitlines()[3] if words.count(chr(10)) > 2 else words}", 1)
elif words.startswith("bad-marker"):
    say("<<GZA_QUESTION>>{not json}<</GZA_QUESTION>>", 1)
elif words.startswith("short"):
    say(marker(ttl=0.05), 1)
elif words.startswith("goes-on"):
    say(marker(question="First?"), 1)
    say(f"I cannot wait. {marker(question='Second?')}", 2)
elif words.startswith("update-deps"):
    say("Nothing to ask.", 1)
else:
    say("I have looked around.", 1)
    text = marker()
    # The end of the marker comes in another message than its beginning.
    say(text[:60], 2)
    say(text[60:], 3)
tell(type="result", subtype="success", result="done", session_id=session, total_cost_usd=0.45)
