"""Runs of agents: the states of a run, what an adapter deals in, markers, and what a resumed session is told."""
