"""Telegram through aiogram: `channel.py` connects, `messages.py` renders, `reading.py` reads."""
