"""Slack through its SDK: `channel.py` connects, `blocks.py` renders, `reading.py` reads, `app.py` is the manifest."""
