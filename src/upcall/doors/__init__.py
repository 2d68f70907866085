"""How an agent asks: MCP, the pipe, files, hooks. None of them decides anything, and each always replies.

Begin with `mcp/tools.py`: every door calls the tools there.
"""
