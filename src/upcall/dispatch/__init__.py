"""What has to be done in channels: a worker and a listener for each, escalation, people, and links to answer with.

It knows channels by their protocol only. Begin with `dispatcher.py`, then `worker.py` and `reception.py`.
"""
