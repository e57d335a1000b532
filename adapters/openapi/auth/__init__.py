"""OpenAPI security schemes and OAuth 2.0 tokens."""
