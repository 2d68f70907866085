"""The client: how programs ask, in Python. It knows HTTP and the home of this machine, and nothing of the daemon's parts.

`upcall` itself offers the names (`upcall.ask`, `upcall.approve`, `upcall.Client`, `upcall.sync`), and loads them when they
are first used. Begin with `client.py`; `connection.py` reaches the daemon, over the HTTP of `wire.py`.
"""
