"""Text from outside: safe to show, free of known secrets, and JSON fields of the right type."""
