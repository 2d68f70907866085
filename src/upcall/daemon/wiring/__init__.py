"""The only place where parts meet: settings in, a running broker with its doors, runs and channels out.

`assembly.py` starts the parts in order; each of the other modules makes one of them from the settings.
"""
