"""The programs whose terminals this door is for, by the words that their hooks are started with."""

CLAUDE, CODEX, OPENCODE, GEMINI, COPILOT = "claude", "codex", "opencode", "gemini", "copilot"
BEFORE_DIALOGS = frozenset({GEMINI, COPILOT})
"""Programs that show a dialog only when their hook has ended: it waits while the person is away, and the first key ends it."""

LEAVING = 2.0
"""Seconds in which a program ends after its terminal was closed. Claude Code ends its hooks first, and kills them a second later."""
