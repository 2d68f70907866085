"""Gemini CLI, over the Agent Client Protocol of `agents/acp`."""
