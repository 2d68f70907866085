"""Where inquiries are kept: `sqlite/` is built in, `postgres/` an extra; what both share stands beside them.

A store runs a decision inside a transaction and wakes readers of its log. It does not know what an answer is. The contract
for any other store is in `upcall.testing`.
"""
