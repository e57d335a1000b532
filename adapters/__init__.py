"""Sources of tools and records: OpenAPI services and MCP servers behind one interface.

Adapters do not import `runax_cli`: observers and clocks are passed in.
"""
