"""OpenAPI operations: reading them from a document, and encoding of their parameters."""
