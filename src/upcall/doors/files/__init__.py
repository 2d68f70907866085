"""The door for containers without network: `door.py` and `group.py` in the daemon, `pipe.py` in the container."""
