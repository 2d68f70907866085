"""One inquiry with everything that belongs to it, as `upcall show` prints it."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from upcall.cli.render.activity import activity_facts, activity_lines
from upcall.cli.render.drawing import RunDrawing
from upcall.cli.render.fields import expected
from upcall.cli.render.inquiries import HIDDEN, Inquiry, answer_command, asker, takes_force, votes
from upcall.cli.render.plans import comment_lines, plan_lines
from upcall.cli.render.runs import Run, clock, next_steps
from upcall.cli.render.terminal import Paint
from upcall.domain.text.display import escaped, one_line, visible
from upcall.domain.text.times import moment, since, span
from upcall.home.program import program

WIDEST = 100


def detail_lines(inquiry: Inquiry, now: float, paint: Paint, width: int | None) -> list[str]:
    """Everything about one inquiry. What an approval will do is shown whole and exactly."""
    room = min(width or WIDEST, WIDEST)
    # An older daemon tells nothing of it.
    activity = inquiry.get("activity")
    lines = [*_facts(inquiry, now, paint), *activity_facts(activity), *activity_lines(activity, paint)]
    title = "PENDING QUESTION" if inquiry["state"] == "open" else "QUESTION"
    lines += ["", paint.bold(f"{title} (asked {since(inquiry['asked_at'], now)} ago):")]
    lines += question_lines(inquiry, paint, room)
    lines += _files("Attached", inquiry["attachments"])
    if inquiry["state"] == "open":
        return [*lines, "", f"  Answer with: {paint.name(answer_command(inquiry))}", *_always(inquiry, paint)]
    lines += ["", *_end(inquiry, now, paint, room)]
    # An older daemon knows of none.
    lines += _files("Sent with the answer", (inquiry["answer"] or {}).get("files", []))
    if takes_force(inquiry):
        lines += ["", f"  Answer late with: {paint.name(answer_command(inquiry) + ' --force')}"]
    return lines


def _files(title: str, files: Sequence[Mapping[str, object]]) -> list[str]:
    lines = [f"    {one_line(str(file['name']))} ({file['size']} bytes)" for file in files]
    return ["", f"  {title}:", *lines] if lines else []


def _always(inquiry: Inquiry, paint: Paint) -> list[str]:
    """The command that approves and remembers a rule, where rules are possible."""
    ways: list[str] = (inquiry["action"] or {}).get("remember", [])
    if not ways or inquiry["secret"]:
        return []
    command = f"{answer_command(inquiry)} --always {'|'.join(ways)}"
    lines = [f"  and remember it: {paint.name(command)}"]
    if "prefix" in ways:
        lines.append(
            paint.dim(f"    (prefix: every command that begins with {one_line(inquiry['action']['prefix'])})")
        )
    # An older daemon does not say it.
    if why := inquiry["action"].get("no_prefix"):
        lines.append(paint.dim(f"    (not by prefix: {one_line(why['text'])})"))
    return lines


def run_lines(
    run: Run, asked: list[Inquiry], now: float, paint: Paint, width: int | None, drawing: RunDrawing
) -> list[str]:
    """Everything about one run, with what it asks."""
    room = min(width or WIDEST, WIDEST)
    lines = drawing.facts(run, now, paint)
    for inquiry in asked:
        lines += ["", paint.bold(f"PENDING QUESTION (asked {since(inquiry['asked_at'], now)} ago):")]
        lines += question_lines(inquiry, paint, room)
        name = str(run["number"]) if len(asked) == 1 else inquiry["ref"]
        lines += ["", f"  Answer with: {paint.name(drawing.answer_command(inquiry, name))}"]
    return lines if asked else [*lines, "", next_steps(run, paint)]


def _facts(inquiry: Inquiry, now: float, paint: Paint) -> list[str]:
    header = inquiry["questions"][0]["header"] or asker(inquiry)
    facts = [paint.bold(f"Inquiry #{inquiry['ref']}: {one_line(header)}")]
    facts.append(f"Status: {'waiting for input' if inquiry['state'] == 'open' else inquiry['state']}")
    facts.append(f"Kind: {inquiry['kind']}")
    token = "" if asker(inquiry) == inquiry["agent"] else f" (token {one_line(inquiry['agent'])})"
    facts.append(f"Agent: {one_line(asker(inquiry))}{token}")
    if inquiry["session"] and inquiry["session"] != inquiry["agent"]:
        facts.append(f"Session: {one_line(inquiry['session'])}")
    if inquiry["run"] is not None:
        facts.append(f"Run: {inquiry['run']}")
    if inquiry["workspace"]:
        facts.append(f"Workspace: {one_line(inquiry['workspace'])}")
    # An older daemon tells no branch, or only that of the activity.
    if branch := inquiry.get("branch") or (inquiry.get("activity") or {}).get("branch"):
        facts.append(f"Branch: {one_line(branch)}")
    facts.append(f"Id: {inquiry['id']}")
    if inquiry["state"] == "open":
        facts.append(f"Expires: in {span(moment(inquiry['expires_at']) - now)}{_at_expiry(inquiry)}")
        if inquiry["snoozed_until"] and moment(inquiry["snoozed_until"]) > now:
            facts.append(f"Snoozed: for {span(moment(inquiry['snoozed_until']) - now)}")
    if inquiry["state"] == "open":
        facts += [_delivered(delivery, paint) for delivery in inquiry["delivery"]]
    if inquiry["approvals"]:
        facts += _approved(inquiry)
    if inquiry["action"]:
        facts.append(f"SHA-256: {inquiry['action']['sha256']}")
    if inquiry["redacted"]:
        facts.append(f"Masked: {inquiry['redacted']} secret(s) in the question")
    return facts


def _approved(inquiry: Inquiry) -> list[str]:
    """Who has approved, and which edited actions take further people."""
    approvals = inquiry["approvals"]
    names = ", ".join(one_line(vote["by"]) for vote in approvals["given"])
    lines = [f"Approved: {votes(inquiry)}{f' ({names})' if names else ''}"]
    for edit in approvals.get("edits", []):
        by = [one_line(vote["by"]) for vote in approvals["given"] if vote["sha256"] == edit["sha256"]]
        lines.append(f"Edited: {len(by)} of {approvals['needed']} approvals ({', '.join(by)})")
        lines += edit_lines(edit)
    return lines


def edit_lines(edit: Mapping[str, Any]) -> list[str]:
    """An edited action: its hash, the action before and after, and the difference."""
    lines = [f"  SHA-256: {edit['sha256']}"]
    for title, name in (("Asked for:", "before"), ("Edited:", "after"), ("Difference:", "difference")):
        lines += [f"  {title}", *(f"  {line}" for line in _exactly(edit[name]))]
    return lines


def _delivered(delivery: dict[str, Any], paint: Paint) -> str:
    """Where an open question is shown, or why it is not."""
    place = f"{delivery['channel']}:{one_line(delivery['place'])}"
    if delivery["error"]:
        return paint.bad(f"Not shown: {place}: {one_line(delivery['error'])}")
    return f"Shown: {place}" if delivery["shown_at"] else f"Being shown: {place}"


def _at_expiry(inquiry: Inquiry) -> str:
    match inquiry["on_expiry"]:
        case "default":
            return f", then the answer is {one_line(inquiry['default'])}"
        case "deny":
            return ", then it is denied"
        case "fail":
            return ", then it fails"
        case _:
            return ""


def question_lines(inquiry: Inquiry, paint: Paint, room: int) -> list[str]:
    """The questions with their options and context."""
    exact = inquiry["kind"] == "approval"
    lines: list[str] = []
    several = len(inquiry["questions"]) > 1
    for number, question in enumerate(inquiry["questions"], 1):
        text = f"{number}) {question['question']}" if several else question["question"]
        lines += [""] if lines else []
        lines += _exactly(text) if exact else _wrapped(visible(text), "  ", room)
        lines += _wrapped(rules, "  ", room) if (rules := expected(question)) else []
        lines += _options(question, paint, room)
    if inquiry["kind"] == "plan":
        lines += plan_lines(inquiry)
    elif context := inquiry["context"].strip("\n"):
        lines += ["", "  Context:"]
        lines += _exactly(context) if exact else _wrapped(visible(context), "  ", room)
    return lines


def _options(question: dict[str, Any], paint: Paint, room: int) -> list[str]:
    if not question["options"]:
        return []
    lines = ["", "  Choose any number of:" if question["multiSelect"] else "  Suggested options:"]
    for number, option in enumerate(question["options"], 1):
        label = one_line(option["label"])
        if option.get("recommended") and "recommended" not in label.casefold():
            label += " (recommended)"
        lines.append(f"    {number}. {label}")
        if option["description"]:
            lines += [paint.dim(line) for line in _wrapped(visible(option["description"]), " " * 7, room)]
        if option.get("preview"):
            lines += [f"       │ {line}" for line in visible(option["preview"]).strip("\n").split("\n")]
    if not question["custom"]:
        lines.append(
            paint.dim(
                "    (one of these; no other answer)" if not question["multiSelect"] else "    (only these)"
            )
        )
    return lines


def _end(inquiry: Inquiry, now: float, paint: Paint, room: int) -> list[str]:
    closing, answer = inquiry["resolution"], inquiry["answer"]
    by = f"by {one_line(closing['by'])} via {one_line(closing['via'])}, {since(closing['at'], now)} ago"
    if answer is None:
        lines = [paint.bold(f"{inquiry['state'].upper()} ({by})")]
        return lines + (_wrapped(visible(closing["reason"]), "  ", room) if closing["reason"] else [])
    lines = [paint.bold(f"ANSWER ({by}):")]
    for number, values in enumerate(answer["answers"], 1):
        lead = f"{number}) " if len(answer["answers"]) > 1 else ""
        text = HIDDEN if inquiry["secret"] else visible(", ".join(values))
        lines += _wrapped(lead + text, "  ", room)
    if answer["note"] and not inquiry["secret"]:
        lines += _wrapped(f"Note: {visible(answer['note'])}", "  ", room)
    lines += comment_lines(answer)
    if edit := answer.get("edit"):
        lines += edit_lines(edit)
    collected = answer["collected_at"]
    told = f"the agent took it {since(collected, now)} ago" if collected else _on_its_way(inquiry)
    return [*lines, paint.dim(f"  ({told})")]


def _on_its_way(inquiry: Inquiry) -> str:
    resume = inquiry["resume"]
    if resume is None:
        return "the agent has not collected it yet"
    if resume["state"] == "by_hand":
        return f"no sign yet that the agent has it; its session: {one_line(resume['command'] or '', 500)}"
    if resume.get("next_try"):
        now = f"; try it now with: {program()} retry {resume['run']}"
        return f"{one_line(resume['error'], 200)}, next try {clock(resume['next_try'])}{now}"
    tries = f", attempt {resume['attempts']}" if resume["attempts"] else ""
    trouble = f": {one_line(resume['error'], 200)}" if resume["error"] else ""
    again = f"; try again with: {program()} retry {resume['run']}" if trouble and resume["run"] else ""
    return f"being forwarded to the agent, {one_line(resume['state'])}{tries}{trouble}{again}"


def _exactly(text: str) -> list[str]:
    """The exact text; the terminal breaks long lines."""
    return [f"  {line}" for line in escaped(text).split("\n")]


def _wrapped(text: str, indent: str, room: int) -> list[str]:
    """The text wrapped to the width, complete."""
    lines: list[str] = []
    for line in text.split("\n"):
        lead = indent + line[: len(line) - len(line.lstrip())]
        if len(indent) + len(line) <= room:
            lines.append(indent + line if line.strip() else "")
        else:
            lines += textwrap.wrap(
                line.strip(), max(room, len(lead) + 20), initial_indent=lead, subsequent_indent=lead
            )
    return lines
