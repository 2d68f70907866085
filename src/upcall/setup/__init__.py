"""Giving our door to programs that people start themselves: what goes into which file, and how it gets out again."""
