"""What is to be pressed and what is set off in a message, as aiogram's own values."""

from aiogram.types import InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity

from upcall.channels.telegram.messages import Content


def keyboard(content: Content) -> InlineKeyboardMarkup | None:
    """The buttons of a message."""
    if not content.rows:
        return None
    rows = [
        [InlineKeyboardButton(text=button.text, callback_data=button.data) for button in row]
        for row in content.rows
    ]
    return InlineKeyboardMarkup(inline_keyboard=rows)


def entities(content: Content) -> list[MessageEntity]:
    """The parts of a text that are set off."""
    return [
        MessageEntity(type=each.kind, offset=each.offset, length=each.length) for each in content.entities
    ]
