"""Matrix through matrix-nio: `api.py` is the homeserver, `messages.py` renders, `reading.py` reads."""
