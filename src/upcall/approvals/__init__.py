"""Where agents' programs put their own questions, and have their actions decided."""
