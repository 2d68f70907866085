"""The HTTP edge: the API under `api/`, the inbox under `pages/`. It decides nothing; the broker and the domain do.

Begin with `app.py`.
"""
