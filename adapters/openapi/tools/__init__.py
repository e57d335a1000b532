"""Tools built from OpenAPI operations: arguments, pagination, response shape, size budget, cache."""
