"""The HTTP API under `/v1`: handlers, the documents they send, and the OpenAPI description of both."""
