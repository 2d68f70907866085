"""Notifications of the home's owner: a bell, the terminal, macOS, a post to an address."""
