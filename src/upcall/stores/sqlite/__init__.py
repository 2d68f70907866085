"""The embedded store: one file, one thread that writes in groups, one that reads. Begin with `store.py`."""
