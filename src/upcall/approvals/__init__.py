"""The desk where an agent's own questions and actions are decided, and the rules that are remembered.

It knows the broker and the domain; it knows neither programs nor transports. Begin with `desk.py`.
"""
