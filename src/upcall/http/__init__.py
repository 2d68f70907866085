"""What `web/` and `doors/` share of HTTP: connections and their limits, the guard, bearer tokens, bodies, error replies.

It knows nothing of inquiries. Begin with `guard.py`, which every request passes.
"""
