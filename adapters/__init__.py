"""Sources of tools and records: OpenAPI services and MCP servers behind one interface.

Adapters import nothing of `runax_cli`: observers and clocks are passed in.
"""
