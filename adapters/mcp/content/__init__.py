"""Content of MCP results: JSON, text, tables and signals turned into records."""
