"""The content of MCP results: structured content, JSON, tables and metadata in text."""
