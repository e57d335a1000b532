"""OpenAPI operations: reading them, serialization of parameters, and body media types."""
