"""The programs whose terminals this door is for, by the words that their hooks are started with."""

CLAUDE, CODEX, OPENCODE = "claude", "codex", "opencode"
