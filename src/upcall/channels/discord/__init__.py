"""Discord through discord.py: `channel.py` connects, `messages.py` renders, `reading.py` reads."""
