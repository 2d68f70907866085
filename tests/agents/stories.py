"""What happens to every agent sooner or later, played by the real programs with our door given to them by hand.

Each story returns the program's work once it is over; tests judge it, and `capture` keeps what it said as a sample.
"""

import json
import time
from dataclasses import dataclass

from tests.agents import by_hand
from tests.agents.dialect import Json
from tests.agents.model_server import Model
from tests.agents.person import Person
from tests.agents.programs import CLAUDE, CODEX, GEMINI, OPENCODE, Desk, Program
from tests.agents.script import Call, Conversation, Refuse, Say, Turn, say_back
from tests.agents.work import PATIENCE, Work

CACHE: Json = {"question": "Which cache?", "options": [{"label": "Redis"}, {"label": "Memcached"}]}
ASK = Call("ask_human", CACHE)
TASK = "Set up the cache. Ask me which one."
SUBTASK = "Find out which cache they want."
LATE = "You asked: Which cache? The human answered: Memcached."

SHELL = {
    CLAUDE: Call("Bash", {"command": "touch made", "description": "Make a file"}),
    CODEX: Call("exec_command", {"cmd": "touch made"}),
    OPENCODE: Call("bash", {"command": "touch made", "description": "Make a file"}),
    GEMINI: Call("run_shell_command", {"command": "touch made"}),
}
"""How each program's model has a command run."""

ANYTHING_GOES = {
    CLAUDE: ("--permission-mode", "bypassPermissions"),
    CODEX: ("--sandbox", "danger-full-access"),
    OPENCODE: (),
    GEMINI: ("--approval-mode", "yolo"),
}


RECORDS = {
    CLAUDE: (".claude/projects/*/*.jsonl", CACHE["question"]),
    CODEX: (".codex/sessions/**/*.jsonl", CACHE["question"]),
    OPENCODE: (".local/share/opencode/opencode.db*", CACHE["question"]),
    GEMINI: (".gemini/tmp/*/chats/*.json*", TASK),
}
"""Where each program writes its sessions down, and the latest that it knows of one which is waiting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """All who take part: a person, a model, and a program at its desk."""

    model: Model
    desk: Desk
    person: Person

    def start(self, program: Program, task: str, *words: str, session: str = "", **variables: str) -> Work:
        """Let the program begin, or go on with a session."""
        home = self.person.home
        return by_hand.start(program, self.desk, home, task, *words, session=session, **variables)


def asked(stage: Stage, program: Program) -> Work:
    """It asks, waits, is answered, and says what it was told."""
    stage.model.play(ASK, say_back)
    work = stage.start(program, TASK)
    _answer(stage, work)
    return work


def killed(stage: Stage, program: Program) -> Work:
    """It is killed while its question is open."""
    stage.model.play(ASK)
    work = stage.start(program, TASK)
    stage.person.next_question(work)
    work.wait_for(_is_waiting)
    wait_for_record(stage.desk, program)
    work.kill()
    work.finish()
    return work


def resumed(stage: Stage, program: Program, session: str) -> Work:
    """A session that was ended goes on with the answer in its prompt."""
    stage.model.play(Say("Memcached it is."))
    work = stage.start(program, LATE, session=session)
    work.finish()
    return work


def commanded(stage: Stage, program: Program) -> Work:
    """It runs a command, which it may."""
    stage.model.play(SHELL[program], say_back)
    work = stage.start(program, TASK, *ANYTHING_GOES[program])
    work.finish()
    return work


def refused(stage: Stage, program: Program) -> Work:
    """It wants to run a command, and no person is there to allow it."""
    variables = {}
    call = SHELL[program]
    if program is CODEX:
        call = Call("exec_command", {**call.arguments, "sandbox_permissions": "require_escalated"})
    if program is OPENCODE:
        variables["OPENCODE_PERMISSION"] = json.dumps({"bash": "ask"})
    if program is GEMINI:
        stage.desk.change_gemini_settings({"tools": {"allowed": ["run_shell_command(git status)"]}})
    stage.model.play(call)
    stage.model.follow(say_back)
    work = stage.start(program, TASK, **variables)
    work.finish()
    return work


def failed(stage: Stage, program: Program) -> Work:
    """The vendor's service does not want to."""
    stage.model.follow(lambda _: Refuse(400, "no credit left"))
    work = stage.start(program, TASK)
    work.finish()
    return work


def deferred(stage: Stage) -> Work:
    """A hook puts Claude Code's question off, and the program ends."""
    stage.model.play(ASK)
    work = stage.start(CLAUDE, TASK, *_hook(stage, "defer"))
    work.finish()
    return work


def undeferred(stage: Stage, session: str) -> Work:
    """It is started again without a prompt, asks what it was about to ask, and goes on."""
    stage.model.play(say_back)
    work = stage.start(CLAUDE, "", *_hook(stage, "allow"), session=session)
    _answer(stage, work)
    return work


def delegated(stage: Stage) -> Work:
    """Claude Code leaves the work to a subagent, which asks."""
    stage.model.follow(delegate)
    work = stage.start(CLAUDE, TASK)
    _answer(stage, work)
    return work


def session_of(work: Work) -> str:
    """The session, under the name that each program has for it."""
    names = ("session_id", "thread_id", "sessionID")
    session: str = next(event[name] for event in work.events for name in names if name in event)
    return session


def _answer(stage: Stage, work: Work) -> None:
    question = stage.person.next_question(work)
    stage.person.answer(question["ref"], "Memcached")
    work.finish()


def wait_for_record(desk: Desk, program: Program) -> None:
    """Wait until the session is on disk: programs write it down a moment after they have said so, without a sign."""
    files, words = RECORDS[program]
    deadline = time.monotonic() + PATIENCE
    while not any(words.encode() in file.read_bytes() for file in desk.home.glob(files)):
        assert time.monotonic() < deadline, f"{program.name} never wrote its session down"
        time.sleep(0.02)


def _is_waiting(event: Json) -> bool:
    """Whether this is the last thing a program says before it waits; opencode tells of a call when it is over."""
    return event["type"] in {"assistant", "item.started", "tool_use", "step_start"}


def _hook(stage: Stage, decision: str) -> tuple[str, str]:
    file = stage.desk.home / "decision.json"
    output = {"hookEventName": "PreToolUse", "permissionDecision": decision}
    file.write_text(json.dumps({"hookSpecificOutput": output}), "utf-8")
    hook = {"type": "command", "command": f"cat {file}"}
    settings = {"hooks": {"PreToolUse": [{"matcher": "mcp__upcall__ask_human", "hooks": [hook]}]}}
    return "--settings", json.dumps(settings)


def delegate(conversation: Conversation) -> Turn:
    """The turns of a model that has a subagent ask, by the means of its program."""
    offered = {tool.name for tool in conversation.tools}
    if any(SUBTASK in prompt for prompt in conversation.prompts):
        return _as_subagent(conversation, offered)
    if "spawn_agent" in offered:
        return _beside_subagent(conversation)
    if conversation.results:
        return say_back(conversation)
    if "invoke_agent" in offered:
        return Call("invoke_agent", {"agent_name": "generalist", "prompt": SUBTASK})
    if "task" in offered:
        asked = {"description": "Ask for the cache", "prompt": SUBTASK, "subagent_type": "general"}
        return Call("task", asked)
    kind = {"subagent_type": "general-purpose", "run_in_background": False}
    return Call("Agent", {"description": "Ask for the cache", "prompt": SUBTASK, **kind})


def _as_subagent(conversation: Conversation, offered: set[str]) -> Turn:
    """It asks, and repeats the answer; those of Gemini CLI have a tool for their last word."""
    if not conversation.results:
        return ASK
    if "complete_task" in offered:
        return Call("complete_task", {"result": {"response": say_back(conversation).text}})
    return say_back(conversation)


def _beside_subagent(conversation: Conversation) -> Turn:
    """Those of Codex work beside their agent, which waits for a message of theirs."""
    if "FINAL_ANSWER" in conversation.prompts[-1]:
        return Say(conversation.prompts[-1])
    if conversation.results:
        return Call("wait_agent", {"timeout_ms": 60_000})
    return Call("spawn_agent", {"task_name": "ask", "message": SUBTASK, "fork_turns": "none"})
