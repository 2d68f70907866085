"""Codex: `codex exec` (`exec.py`) for autonomous work, its app server (`app.py`) where a person approves actions.

Begin with `adapter.py`, which chooses between the two.
"""
