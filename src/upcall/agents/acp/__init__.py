"""Any agent that speaks the Agent Client Protocol. Begin with `adapter.py`; only `client.py` knows the SDK."""
