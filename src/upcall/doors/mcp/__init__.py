"""MCP: the tools and their schemas, one conversation in lines, and the HTTP transports.

Only `server.py` imports the MCP SDK.
"""
