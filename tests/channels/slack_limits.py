"""What Slack takes, as far as we use it."""

import json
from collections.abc import Iterator
from typing import Any

from slack_sdk.errors import SlackObjectFormationError
from slack_sdk.models.blocks import Block

Json = dict[str, Any]
PAYLOAD = 13_200
PARSED = {"mrkdwn", "markdown"}


def length(text: str) -> int:
    """How long Slack says that a text is: it counts as browsers do, in UTF-16."""
    return len(text.encode("utf-16-le")) // 2


def every(value: Any) -> Iterator[Json]:
    """Every object in some JSON."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from every(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from every(inner)


def problem_with(blocks: list[Json], most: int) -> str | None:
    """What Slack would say about these blocks."""
    if len(blocks) > most:
        return f"invalid_blocks: no more than {most} items allowed"
    names = [block["block_id"] for block in blocks if "block_id" in block]
    if len(names) != len(set(names)) or any(len(name) > 255 for name in names):
        return "invalid_blocks: block_id"
    try:
        for block in blocks:
            parsed = Block.parse(block)
            if parsed is None:
                return f"invalid_blocks: unsupported type {block.get('type')}"
            parsed.to_dict()
    except SlackObjectFormationError as error:
        return f"invalid_blocks: {error}"
    for element in every(blocks):
        kind, options = element.get("type"), element.get("options", [])
        if kind in {"radio_buttons", "checkboxes"} and not 1 <= len(options) <= 10:
            return f"invalid_blocks: {kind} has 1 to 10 options"
        if kind in {"static_select", "multi_static_select"} and not 1 <= len(options) <= 100:
            return f"invalid_blocks: {kind} has 1 to 100 options"
        if any(length(each["text"]["text"]) > 75 or len(each["value"]) > 150 for each in options):
            return "invalid_blocks: option too long"
        if any(length(each.get("description", {}).get("text", "")) > 75 for each in options):
            return "invalid_blocks: description too long"
        if kind == "button" and length(element["text"]["text"]) > 75:
            return "invalid_blocks: button too long"
        if kind == "actions" and any(each["type"] == "multi_static_select" for each in element["elements"]):
            return "invalid_blocks: a multi select is no action"
        if "text" in element and element["text"] == "":
            return "invalid_blocks: empty text"
        # Slack would take it; that agent text is never parsed is a promise of ours.
        if kind in PARSED:
            return f"invalid_blocks: {kind} could ping and link"
    if length(json.dumps(blocks, ensure_ascii=False)) > PAYLOAD:
        return "msg_blocks_too_long"
    return None
