"""The HTTP edge: requests in, documents out. It decides nothing; the broker and the domain do."""
