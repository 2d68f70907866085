"""The one long-running process of a home.

`process.py` claims the home and reports readiness, `server.py` serves until the end, `wiring/` composes the parts.
"""
