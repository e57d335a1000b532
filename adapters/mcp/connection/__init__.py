"""Connections to MCP servers: transports, sessions, and repair of messages that break the protocol."""
