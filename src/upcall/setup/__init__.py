"""What goes into the settings of agents that people start themselves, and how it is removed again.

It changes files of other programs, shown first and undone byte for byte. Begin with `plan.py` and `clients.py`.
"""
