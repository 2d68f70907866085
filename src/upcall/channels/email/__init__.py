"""E-mail: `channel.py` sends and fetches, `letters.py` renders, `mailbox.py` speaks IMAP, `reading.py` reads replies."""
