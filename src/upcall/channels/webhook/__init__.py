"""A person's own program as a channel, signed in both directions."""
