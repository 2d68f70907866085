"""From a person's words to an answer (`reading.py`), and from an answer to what the asker is told (`outcome.py`)."""
