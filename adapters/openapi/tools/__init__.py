"""Tools made of OpenAPI operations: arguments, pagination, response shape, size budget, cache."""
