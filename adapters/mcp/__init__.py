"""MCP servers as sources; `adapter.McpSource` is the entry point."""
