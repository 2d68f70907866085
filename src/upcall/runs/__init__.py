"""Supervised runs of agents: started, followed, steered, ended, and resumed with a late answer.

It knows adapters by their protocol only. Begin with `service.py`; `process/` is about single processes.
"""
