"""The manifest and the scopes of the Slack app. Does not import the SDK."""

from collections.abc import Sequence

from upcall.domain.channel.showing import Finding

SCOPES = ("chat:write", "im:history", "channels:history", "groups:history")
LOOK_UP_SCOPE = "im:write"
"""Opens a direct message, so that a question can be looked for there after a crash."""

FILES_SCOPE = "files:read"
"""Reads the files that people send with their answers."""

OPTIONAL_SCOPES = ("reactions:read", LOOK_UP_SCOPE, FILES_SCOPE)
"""Scopes without which an app still works: `reactions:read` serves to tell people that a reaction decides nothing."""

EVENTS = ("message.im", "message.channels", "message.groups", "reaction_added")

WITHOUT = {
    LOOK_UP_SCOPE: "a crash can leave a question twice in a direct message",
    FILES_SCOPE: "files that people send with their answers are not taken",
}
"""What an app cannot do without a scope that is no necessity."""


def scope_findings(granted: Sequence[str], hint: str) -> list[Finding]:
    """Which scopes are missing, and what that means."""
    missing = [scope for scope in SCOPES if scope not in granted]
    found = [Finding(ok=False, text=f"missing scopes: {', '.join(missing)}", hint=hint)] if missing else []
    lacking = [
        f"without the scope {scope}, {what}" for scope, what in WITHOUT.items() if scope not in granted
    ]
    return [*found, *(Finding(ok=True, text=text) for text in lacking)]


def manifest(callback: str = "") -> dict[str, object]:
    """The app's manifest: with Socket Mode, or with an address at which Slack calls us."""
    events: dict[str, object] = {"bot_events": list(EVENTS)}
    interactivity: dict[str, object] = {"is_enabled": True}
    if callback:
        events = {"request_url": callback, **events}
        interactivity["request_url"] = callback
    return {
        "display_information": {"name": "Upcall", "description": "Questions of your coding agents"},
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": "Upcall", "always_online": True},
        },
        "oauth_config": {"scopes": {"bot": [*SCOPES, *OPTIONAL_SCOPES]}},
        "settings": {
            "event_subscriptions": events,
            "interactivity": interactivity,
            "socket_mode_enabled": not callback,
        },
    }
