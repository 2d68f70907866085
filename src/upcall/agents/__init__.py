"""Adapters: how each agent's program is started with our tools, read, and resumed. One folder for each program.

An adapter describes commands and reads output. It starts no process: `runs/process` does. Begin with `catalogue.py`, which
finds adapters by name, and `claude/adapter.py`, the fullest example.
"""
