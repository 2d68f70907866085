"""Who may do what in a session of opencode's server: what its user decided, and never more than people approve."""

from collections.abc import Iterable, Iterator

from upcall.agents.opencode.parts import Json, text
from upcall.agents.opencode.plans import PLANS
from upcall.agents.opencode.settings import ASKING, HARMLESS, OURS

WHERE = "external_directory"
"""Decides only where a tool may look; the tool itself is decided apart."""


def tightened(rules: Iterable[Json]) -> list[dict[str, str]]:
    """Rules of a session, from those of its agent: what was denied stays denied, what was allowed is asked about.

    Of all rules that fit, opencode takes the last one, and a session's come after its agent's.
    """
    return [*_tightened(rules), _rule(OURS, "*", "allow")]


def _tightened(rules: Iterable[Json]) -> Iterator[dict[str, str]]:
    for rule in rules:
        permission, pattern = text(rule.get("permission")), text(rule.get("pattern"))
        if not permission or not pattern or permission in ASKING or permission == OURS:
            continue
        match text(rule.get("action")):
            case "deny" | "ask" as action:
                yield _rule(permission, pattern, action)
            case "allow" if permission in HARMLESS or permission == WHERE or pattern == PLANS:
                # A plan is put to people as what it is, once it is written.
                yield _rule(permission, pattern, "allow")
            case "allow" if permission != "*":
                yield _rule(permission, pattern, "ask")
            case _:
                # To allow everything is no more than our own rules, which are in its settings.
                continue


def _rule(permission: str, pattern: str, action: str) -> dict[str, str]:
    return {"permission": permission, "pattern": pattern, "action": action}
