"""A conversation of AG-UI, as its client holds it: messages and state, put together from the events of a run.

Many servers keep nothing between runs, so the next run is sent all of it. Events that a program only shows (steps, activities,
custom ones) change nothing here.
"""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

Fields = Mapping[str, Any]
Message = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Conversation:
    """Messages and state so far. `take` is given every event of a run, in order."""

    messages: list[Message] = field(default_factory=list)
    state: Any = None
    _text: str = ""
    _call: str = ""
    _tokens: dict[str, str] = field(default_factory=dict)
    """Encrypted values that came before the call or the message that they belong to."""

    def take(self, event: Fields) -> None:
        """Take an event in."""
        match event:
            case {"type": "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START" as kind, "messageId": name}:
                self._begin(name, "reasoning" if kind[0] == "R" else event.get("role") or "assistant")
            case {"type": "TEXT_MESSAGE_CHUNK" | "REASONING_MESSAGE_CHUNK" as kind}:
                name = event.get("messageId") or self._text
                self._begin(name, "reasoning" if kind[0] == "R" else event.get("role") or "assistant")
                self._say(name, event.get("delta") or "")
            case {"type": "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT", "messageId": name}:
                self._say(name, event["delta"])
            case {"type": "TOOL_CALL_START", "toolCallId": name}:
                self._begin_call(name, event)
            case {"type": "TOOL_CALL_CHUNK"}:
                name = event.get("toolCallId") or self._call
                self._begin_call(name, event)
                self._argue(name, event.get("delta") or "")
            case {"type": "TOOL_CALL_ARGS", "toolCallId": name}:
                self._argue(name, event["delta"])
            case {"type": "TOOL_CALL_RESULT", "messageId": name}:
                said = {"toolCallId": event["toolCallId"], "content": event["content"]}
                self.messages.append({"id": name, "role": "tool", **said})
            case {"type": "REASONING_ENCRYPTED_VALUE", "entityId": name}:
                self._seal(name, event["encryptedValue"])
            case {"type": "MESSAGES_SNAPSHOT"}:
                self.messages = copy.deepcopy(event["messages"])
            case {"type": "STATE_SNAPSHOT"}:
                self.state = copy.deepcopy(event["snapshot"])
            case {"type": "STATE_DELTA"}:
                self.state = patched(self.state, event["delta"])
            case _:
                pass

    def call(self, name: str) -> Fields | None:
        """The call of a tool with this id: its `name` and its `arguments`, which are text."""
        found = self._calls().get(name)
        return None if found is None else found["function"]

    def _calls(self) -> dict[str, dict[str, Any]]:
        return {each["id"]: each for message in self.messages for each in message.get("toolCalls") or ()}

    def _begin(self, name: str, role: str) -> None:
        self._text = name
        if not any(each["id"] == name for each in self.messages):
            self.messages.append({"id": name, "role": role, "content": ""} | self._token(name))

    def _say(self, name: str, delta: str) -> None:
        for each in reversed(self.messages):
            if each["id"] == name:
                each["content"] = (each.get("content") or "") + delta
                return

    def _begin_call(self, name: str, event: Fields) -> None:
        self._call = name
        if name in self._calls():
            return
        parent = event.get("parentMessageId") or name
        last = self.messages[-1] if self.messages else {}
        if last.get("id") != parent or last.get("role") != "assistant":
            last = {"id": parent, "role": "assistant"}
            self.messages.append(last)
        named = {"id": name, "type": "function"} | self._token(name)
        called = {"name": event["toolCallName"], "arguments": ""}
        last.setdefault("toolCalls", []).append(named | {"function": called})

    def _argue(self, name: str, delta: str) -> None:
        found = self._calls().get(name)
        if found is not None:
            found["function"]["arguments"] += delta

    def _seal(self, name: str, value: str) -> None:
        messages = {each["id"]: each for each in self.messages}
        found = self._calls().get(name) or messages.get(name)
        if found is None:
            self._tokens[name] = value
        else:
            found["encryptedValue"] = value

    def _token(self, name: str) -> dict[str, str]:
        return {"encryptedValue": self._tokens.pop(name)} if name in self._tokens else {}


def patched(document: Any, operations: Sequence[Fields]) -> Any:
    """A document after the operations of a JSON Patch (RFC 6902).

    >>> patched({"done": ["a"]}, [{"op": "add", "path": "/done/-", "value": "b"}])
    {'done': ['a', 'b']}

    Raises:
        LookupError: if there is nothing where an operation wants to change something.
    """
    whole = {"": copy.deepcopy(document)}
    for each in operations:
        match each["op"]:
            case "add" | "replace" as kind:
                _put(whole, each["path"], copy.deepcopy(each["value"]), replacing=kind == "replace")
            case "remove":
                _taken(whole, each["path"])
            case "move":
                _put(whole, each["path"], _taken(whole, each["from"]))
            case "copy":
                parent, key = _place(whole, each["from"])
                _put(whole, each["path"], copy.deepcopy(parent[key]))
            case "test":
                parent, key = _place(whole, each["path"])
                if parent[key] != each["value"]:
                    raise LookupError(f"{each['path']!r} is not {each['value']!r}")
            case unknown:
                raise LookupError(f"there is no operation {unknown!r}")
    return whole[""]


def _place(whole: dict[str, Any], path: str) -> tuple[Any, Any]:
    """What holds the value of a path, and under which key."""
    *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]
    found: Any = whole
    for part in parents:
        found = found[_key(found, part)]
    return found, _key(found, last)


def _key(holder: Any, part: str) -> Any:
    if isinstance(holder, MutableSequence):
        return len(holder) if part == "-" else int(part)
    return part


def _put(whole: dict[str, Any], path: str, value: Any, *, replacing: bool = False) -> None:
    holder, key = _place(whole, path)
    if isinstance(holder, MutableSequence) and not replacing:
        holder.insert(key, value)
    else:
        holder[key] = value


def _taken(whole: dict[str, Any], path: str) -> Any:
    holder, key = _place(whole, path)
    if isinstance(holder, MutableMapping | MutableSequence):
        return holder.pop(key)
    raise LookupError(f"nothing can be taken from {path!r}")
