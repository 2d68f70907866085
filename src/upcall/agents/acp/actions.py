"""The action behind an ACP tool call, in the form in which other agents describe theirs: a command, a change of files, or a tool's input.

Some agents keep the input of a tool to themselves and tell a title, texts and diffs instead. Nothing of that is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from upcall.domain.approval.edits import hunk
from upcall.domain.run.program import Action

Call = Mapping[str, object]

WHOLE_TITLES = frozenset({"gemini-cli"})
"""Agents whose title of a shell call is the command, whole; that of another agent may be shortened, so no rule is made of its words."""

_BACKGROUND = " [background]"


def action_of(call: Call, cwd: str, agent: str = "") -> Action:
    """What is to be approved. `agent` is the name that the agent gives itself."""
    # Titles often are the command itself; a kind is what rules can be made for.
    kind, title = call.get("kind"), call.get("title")
    tool = str((kind if kind and kind != "other" else title) or "tool")
    given = call.get("rawInput")
    if isinstance(given, Mapping) and given:
        return Action(tool=tool, input=cast("Call", given), cwd=cwd)
    if kind == "execute" and agent in WHOLE_TITLES and isinstance(title, str):
        return Action(tool=tool, input={"command": title, **_details("\n".join(_texts(call)), cwd)}, cwd=cwd)
    return Action(tool=tool, input=_told(call), cwd=cwd)


def _told(call: Call) -> dict[str, object]:
    """All that an agent tells of a call whose input it keeps to itself."""
    text = "\n".join(_texts(call))
    explained: dict[str, object] = {"explanation": text} if text else {}
    changes = list(_changes(call))
    if changes:
        named = {change["path"] for change in changes}
        elsewhere = [path for path in _paths(call) if path not in named]
        more: dict[str, object] = {"locations": elsewhere} if elsewhere else {}
        shown: dict[str, object] = {**changes[0]} if len(changes) == 1 else {"changes": changes}
        return {**shown, **more, **explained}
    locations = list(_paths(call))
    where: dict[str, object] = {"locations": locations} if locations else {}
    title = call.get("title")
    return {**({"title": title} if title else {}), **where, **explained}


def _details(text: str, cwd: str) -> dict[str, object]:
    """What Gemini CLI tells beside a command: its directory, a description, and whether it runs in the background.

    A command that runs elsewhere keeps its text, which no rule about a command knows.
    """
    here = f"[current working directory {cwd}]"
    if not text.startswith(here):
        return {"explanation": text} if text else {}
    rest = text.removeprefix(here)
    more: dict[str, object] = {"run_in_background": True} if rest.endswith(_BACKGROUND) else {}
    said = rest.removesuffix(_BACKGROUND).strip()
    return {**({"description": said.removeprefix("(").removesuffix(")")} if said else {}), **more}


def _changes(call: Call) -> Iterator[dict[str, str]]:
    for item in _items(call, "content"):
        path, new = item.get("path"), item.get("newText")
        if item.get("type") == "diff" and isinstance(path, str) and isinstance(new, str):
            yield {"path": path, "diff": hunk(str(item.get("oldText") or ""), new)}


def _texts(call: Call) -> Iterator[str]:
    """Every content that is no diff, as text."""
    for item in _items(call, "content"):
        if item.get("type") == "diff":
            continue
        inner = item.get("content")
        told = cast("Call", inner).get("text") if isinstance(inner, Mapping) else None
        yield told if isinstance(told, str) else str(dict(item))


def _paths(call: Call) -> Iterator[str]:
    for item in _items(call, "locations"):
        path, line = item.get("path"), item.get("line")
        if path:
            yield f"{path}:{line}" if isinstance(line, int) else str(path)


def _items(call: Call, name: str) -> list[Call]:
    value = call.get(name)
    items = cast("Sequence[object]", value) if isinstance(value, list) else ()
    return [cast("Call", item) for item in items if isinstance(item, Mapping)]
