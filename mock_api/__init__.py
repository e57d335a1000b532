"""A mock API, MCP server and model server for demos, tests and CI; independent of the runner and its adapters."""
