"""Every convention of pagination on a route and a tool of its own, honest or lying in one way.

The door: what is served is a `Collection`; `create_conventions_app` serves it over HTTP, and the `Log` keeps what
was given out. The same over MCP is in `mock_api.conventions.tools`, apart since it loads the SDK.
"""

from mock_api.conventions.lying import lies_of
from mock_api.conventions.serving import (
    Given,
    Log,
    add_conventions,
    create_conventions_app,
    document_paths,
    every_style,
)
from mock_api.conventions.style import Collection, Lie, Style
from mock_api.conventions.table import SPELLINGS
from mock_api.conventions.wording import record_id

__all__ = [
    "SPELLINGS",
    "Collection",
    "Given",
    "Lie",
    "Log",
    "Style",
    "add_conventions",
    "create_conventions_app",
    "document_paths",
    "every_style",
    "lies_of",
    "record_id",
]
