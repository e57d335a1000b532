"""Settings: layers, files, MCP servers, origins."""
