"""Translates Slack's errors into the exceptions of the port. Does not import the SDK."""

from upcall.channels.slack.app import SCOPES
from upcall.ports.channel import FormRefused, Refused, SignedOut, Unavailable

PASSING = {
    "fatal_error",
    "internal_error",
    "ratelimited",
    "request_timeout",
    "service_unavailable",
    "team_added_to_org",
}
"""Errors after which the same request may work later."""

CREDENTIAL = {
    "account_inactive",
    "invalid_auth",
    "missing_scope",
    "not_allowed_token_type",
    "not_authed",
    "org_login_required",
    "team_access_not_granted",
    "token_expired",
    "token_revoked",
    "two_factor_setup_required",
}
"""Errors about the token: nothing works before it is replaced, or the app is installed again."""

RICH = {
    "block_mismatch",
    "blocks_too_long",
    "invalid_attachments",
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "unsupported_block_type",
}
"""Errors about blocks."""

HINTS = {
    "not_in_channel": "invite the app there: /invite @Upcall",
    "channel_not_found": "use the channel's id, such as C0123456789, and invite the app there",
    "token_revoked": "install the app again, and take its new bot_token",
    "account_inactive": "install the app again, and take its new bot_token",
    "invalid_auth": "bot_token is the one that begins with xoxb-, app_token the one with xapp-",
    "missing_scope": f"the bot's scopes are {', '.join(SCOPES)}; install the app again after a change",
    "not_allowed_token_type": "bot_token is the one that begins with xoxb-, app_token the one with xapp-",
}


def failure(said: str, status: int, after: str = "", needed: str = "") -> Refused | Unavailable:
    """The exception for an error of Slack; `after` is its Retry-After, `needed` the scope that it misses."""
    if status == 429 or said == "ratelimited":
        return Unavailable("Slack is busy", after=float(after or 1))
    if status >= 500 or said in PASSING or not said:
        return Unavailable(f"Slack cannot do it now: {said or status}")
    if said in RICH:
        return FormRefused(f"Slack says {said}")
    scope = f" ({needed})" if needed else ""
    hint = f": {HINTS[said]}" if said in HINTS else ""
    no = SignedOut if status in {401, 403} or said in CREDENTIAL else Refused
    return no(f"Slack says {said}{scope}{hint}")
