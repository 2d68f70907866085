"""The command line: arguments in, lines out.

`app.py` finds the command; `commands/` has a module for each, imported only when it runs. A command talks to the daemon
over HTTP through `client.py` and reads no database.
"""
