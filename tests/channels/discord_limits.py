"""What Discord takes, as far as we use it, and what its clients make of a message's text."""

import re
from typing import Any

Json = dict[str, Any]
# As Discord's clients look for it: a block ends at the first three backticks, wherever they are.
_FENCED = re.compile(r"```(?:[a-z0-9_+\-.#]+\n)?\n*([^\n].*?)\n*```", re.DOTALL)
_ESCAPED = re.compile(r"\\([^0-9A-Za-z\s])")
_PARSED = re.compile(r"(?<!\\)(?:<[@#!:]|@everyone|@here|\]\(|__|~~|\|\||`)|(?<![<\\])https?://")


def read(content: str) -> str:
    """A message's text as people see it."""
    pieces = _FENCED.split(content)
    shown = [piece if index % 2 else _plain(piece) for index, piece in enumerate(pieces)]
    return "".join(shown).replace("\u200b", "")


def seen(posted: Json) -> str:
    """Everything that people read: the text, and what stands on the controls."""
    controls = [each for row in posted["components"] for each in row["components"]]
    labels = [text for each in controls for text in (each.get("label"), each.get("placeholder")) if text]
    labels += [option["label"] for each in controls for option in each.get("options", [])]
    return "\n".join([read(posted["content"]), *labels])


def _plain(text: str) -> str:
    return _ESCAPED.sub(r"\1", text.replace("**", ""))


def problem_with(sent: Json) -> str | None:
    """What Discord would say about a message."""
    content = sent.get("content", "")
    if not 1 <= len(content) <= 2000:
        return "content: must be 2000 or fewer in length"
    if sent.get("allowed_mentions") != {"parse": []} or not sent.get("flags", 0) & 4:
        # Discord would take it; that a message mentions no person and embeds nothing are promises of ours.
        return "it could ping or embed"
    outside = "".join(_FENCED.split(content)[::2])
    if found := _PARSED.search(outside):
        return f"it would parse {found[0]!r} in {outside!r}"
    if len(str(sent.get("nonce", ""))) > 25:
        return "nonce: must be 25 or fewer in length"
    return _problem_with_rows(sent.get("components", []))


def _problem_with_rows(rows: list[Json]) -> str | None:
    if len(rows) > 5:
        return "components: must be 5 or fewer in length"
    names = [each["custom_id"] for row in rows for each in row["components"]]
    if len(names) != len(set(names)):
        return "components: custom_id cannot be duplicated"
    for row in rows:
        kinds = [each["type"] for each in row["components"]]
        if not 1 <= len(kinds) <= 5 or (3 in kinds and len(kinds) > 1):
            return "components: the width of an action row is 5 at most, and a select takes all of it"
        for each in row["components"]:
            if problem := _problem_with_component(each):
                return problem
    return None


def _problem_with_component(each: Json) -> str | None:
    if not 1 <= len(each["custom_id"]) <= 100:
        return "custom_id: must be between 1 and 100 in length"
    match each["type"]:
        case 2 if not 1 <= len(each["label"]) <= 80:
            return "label: must be between 1 and 80 in length"
        case 3:
            options = each["options"]
            if not 1 <= len(options) <= 25 or not each["min_values"] <= each["max_values"] <= len(options):
                return "options: between 1 and 25"
            texts = [text for option in options for text in (option["label"], option["value"])]
            texts += [option["description"] for option in options if "description" in option]
            if not all(1 <= len(text) <= 100 for text in texts):
                return "options: texts are between 1 and 100 in length"
            if sum(option.get("default", False) for option in options) > each["max_values"]:
                return "options: more defaults than max_values"
        case 4 if each["style"] not in {1, 2}:
            return "style"
        case 4 if not 1 <= len(each.get("value", "x")) <= 4000:
            return "value: must be between 1 and 4000 in length"
        case 2 | 4:
            pass
        case _:
            return "type: unknown"
    return None


def problem_with_form(form: Json) -> str | None:
    """What Discord would say about a form."""
    if not 1 <= len(form["title"]) <= 45 or not 1 <= len(form["custom_id"]) <= 100:
        return "title: must be between 1 and 45 in length"
    if not 1 <= len(form["components"]) <= 5:
        return "components: must be between 1 and 5 in length"
    for label in form["components"]:
        if label["type"] != 18 or not 1 <= len(label["label"]) <= 45:
            return "label: must be between 1 and 45 in length"
        field = label["component"]
        if field["type"] == 3 and field["required"] != (field["min_values"] > 0):
            return "min_values: must be 1 or more where required, and 0 where not"
        if problem := _problem_with_component(field):
            return problem
    return None
