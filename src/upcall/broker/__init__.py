"""Between agents that ask and people who answer: ask, wait, receive, withdraw, expire.

It knows the `Store` protocol and the domain; it knows no door, no channel and no program. Begin with `broker.py`; the other
modules are its parts.
"""
