"""Claude Code: its command line in `adapter.py`, its `stream-json` output in `stream.py`."""
