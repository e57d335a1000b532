"""Connections to MCP servers: transports, sessions, errors, and repair of messages that break the protocol."""
