"""How an agent asks: the MCP tools, the servers that offer them and the pipe that leads to one of them."""
