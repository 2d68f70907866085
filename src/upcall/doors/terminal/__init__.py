"""Sessions that a person sits in: their dialogs go to people elsewhere while the person is away. Begin with `hook.py`.

`hook.py` and what it imports run in a process of each hook, so they load little; `door.py` runs in the daemon.
"""
