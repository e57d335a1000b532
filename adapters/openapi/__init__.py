"""OpenAPI documents: read lazily, one operation at a time, and turned into tools and requests.

Each module knows one step: text, document, operation, schema, tool, request. None of them sends anything.
"""
