"""JSON Schemas of OpenAPI documents: inlining of references and normalization."""
