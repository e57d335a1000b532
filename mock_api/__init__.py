"""A mock API, MCP server and model server for demos, tests and CI. Knows nothing of the runner or its adapters."""
