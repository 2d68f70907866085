"""The command line: arguments in, lines out. Each command imports what it needs when it runs."""
