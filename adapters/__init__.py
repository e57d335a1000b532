"""Sources of tools and records: OpenAPI documents and MCP servers behind one seam.

Knows the wire, documents and pagination conventions. Knows nothing of models, budgets, prompts or terminals:
what it needs of those (observers, gates, clocks) is handed in.
"""
