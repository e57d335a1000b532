"""OpenAPI documents: loading, parsing, references, servers, Swagger 2.0."""
