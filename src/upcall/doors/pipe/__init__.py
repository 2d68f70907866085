"""`upcall mcp`: `pipe.py` in the agent's process, `server.py` and `http.py` in the daemon.

What runs in the agent's process loads neither asyncio nor a third-party package; its start is measured.
"""
