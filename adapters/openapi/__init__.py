"""OpenAPI services as sources: documents, operations, schemas, tools, requests and auth.

Documents are read lazily, one operation at a time. Only `adapter` and `auth.oauth` send requests.
"""
