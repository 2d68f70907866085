"""ntfy: push messages with buttons."""
