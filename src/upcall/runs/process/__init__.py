"""One process of a run: the keeper that outlives the daemon, the supervisor that follows it, and what they share on disk.

Begin with `supervise.py` and `keeper.py`.
"""
