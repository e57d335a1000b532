"""HTTP requests of OpenAPI operations: building, authorization, validation."""
