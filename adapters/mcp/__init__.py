"""MCP, taken apart by noun: configuration, connection, tools, results. `adapters.mcp_adapter` is the door."""
