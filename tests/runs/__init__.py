"""Supervised runs, with real keepers and a small program in the part of the agent."""
