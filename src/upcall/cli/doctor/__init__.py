"""The checks of `upcall doctor`: the installation, the agents, and the proof that an agent can ask."""
