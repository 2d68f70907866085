"""Supervised work of agents: processes that are kept, read, ended and brought back."""
