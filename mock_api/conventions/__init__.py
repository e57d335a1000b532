"""Every pagination convention on its own route and tool, correct or with one fault injected.

A `Collection` says what is served; `create_conventions_app` serves it over HTTP, and the `RequestLog` keeps all
responses. The same over MCP is in `mock_api.conventions.mcp_tools`, a separate module because it loads the SDK.
"""

from mock_api.conventions.collection import Collection, ConventionName, PagingFault
from mock_api.conventions.faults import faults_of
from mock_api.conventions.http_app import (
    LoggedResponse,
    RequestLog,
    add_conventions,
    all_conventions,
    create_conventions_app,
    document_paths,
)
from mock_api.conventions.responses import record_id
from mock_api.conventions.table import CONVENTIONS

__all__ = [
    "CONVENTIONS",
    "Collection",
    "ConventionName",
    "LoggedResponse",
    "PagingFault",
    "RequestLog",
    "add_conventions",
    "all_conventions",
    "create_conventions_app",
    "document_paths",
    "faults_of",
    "record_id",
]
