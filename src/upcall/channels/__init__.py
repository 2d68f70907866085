"""Where people answer: one folder for each vendor, each behind the `Channel` protocol of `ports/channel.py`.

A channel shows, updates and listens. It never interprets words and never decides. Begin with `catalogue.py`, which makes a
channel from its settings; `ntfy/` is the smallest example, `slack/` the fullest.
"""
