"""A module for each command, or for a family of commands that share their arguments."""
