"""opencode: `opencode run` (`run.py`) for autonomous work, `opencode serve` (`serve.py`) where a person approves actions.

Begin with `adapter.py`, which chooses between the two.
"""
