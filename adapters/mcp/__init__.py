"""MCP, taken apart by noun: configuration, connection, tools, results. `adapters.mcp.adapter` is the door."""
