"""Translates Telegram's errors: try later, never, not in this form, or not with this token."""

import re

from aiogram.exceptions import (
    AiogramError,
    ClientDecodeError,
    TelegramBadRequest,
    TelegramConflictError,
    TelegramEntityTooLarge,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramNotFound,
    TelegramRetryAfter,
    TelegramServerError,
    TelegramUnauthorizedError,
)

from upcall.ports.channel import FormRefused, Refused, SignedOut, Unavailable

HINTS = {
    "chat not found": "write to the bot first, and use the address that it says when you send it /id",
    "bot was blocked by the user": "unblock the bot, or take another address",
    "bot can't initiate conversation with a user": "the person has to write to the bot first",
    "Unauthorized": "bot_token is the one that @BotFather has given you",
    "Not Found": "bot_token is the one that @BotFather has given you",
}
RICH = re.compile(r"entit|button|keyboard|reply.?markup", re.IGNORECASE)
"""Matches errors about entities and buttons, and not about the text."""


def failure(error: AiogramError) -> Refused | Unavailable:
    """The exception of the port for an error of Telegram."""
    said = error.message if isinstance(error, TelegramBadRequest | TelegramForbiddenError) else str(error)
    match error:
        case TelegramRetryAfter():
            return Unavailable("Telegram is busy", after=float(error.retry_after))
        case TelegramMigrateToChat():
            return Refused(f"the group has become a supergroup: use the address {error.migrate_to_chat_id}")
        case TelegramConflictError():
            return Unavailable("another program listens with this bot's token: each needs a bot of its own")
        case TelegramEntityTooLarge():
            return Refused("Telegram says that this is too large")
        case TelegramNetworkError() | TelegramServerError() | ClientDecodeError():
            return Unavailable(f"Telegram cannot be reached: {type(error).__name__}")
        case TelegramUnauthorizedError() | TelegramNotFound():
            said = "Unauthorized" if isinstance(error, TelegramUnauthorizedError) else "Not Found"
            return SignedOut(f"Telegram says {said}: {HINTS[said]}")
        case _:
            pass
    if isinstance(error, TelegramBadRequest) and RICH.search(said):
        return FormRefused(f"Telegram says {said.removeprefix('Bad Request: ')}")
    hint = next((hint for part, hint in HINTS.items() if part in said), "")
    said = said.removeprefix("Bad Request: ").removeprefix("Forbidden: ")
    return Refused(f"Telegram says {said}{f': {hint}' if hint else ''}")
