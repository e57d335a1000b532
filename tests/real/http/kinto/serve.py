"""Kinto with one collection that everyone may read. Arguments: folder, number."""

import base64
import json
import logging
import sys
import threading
import urllib.request

from kinto import main as kinto_app
from lifeline import end_with_parent, ready
from waitress import create_server

BATCH = 25
SETTINGS = {
    "kinto.storage_backend": "kinto.core.storage.memory",
    "kinto.permission_backend": "kinto.core.permission.memory",
    "kinto.cache_backend": "kinto.core.cache.memory",
    "kinto.includes": "kinto.plugins.default_bucket",
    "kinto.userid_hmac_secret": "for tests",
    "multiauth.policies": "basicauth",
    "kinto.paginate_by": "100",
    "kinto.project_name": "kinto",
}


def sent(base: str, method: str, path: str, body: object) -> None:
    """One request of the user who owns everything."""
    word = base64.b64encode(b"owner:secret").decode()
    headers = {"Authorization": f"Basic {word}", "Content-Type": "application/json"}
    request = urllib.request.Request(base + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request) as response:
        response.read()


def fill(base: str, number: int) -> None:
    """The bucket, the collection and its records."""
    readable = {"permissions": {"read": ["system.Everyone"]}}
    sent(base, "PUT", "/buckets/shop", readable)
    sent(base, "PUT", "/buckets/shop/collections/things", readable)
    records = "/buckets/shop/collections/things/records"
    numbers = range(1, number + 1)
    for start in range(0, number, BATCH):
        requests = [
            {"path": f"/v1{records}/thing-{n}", "body": {"data": {"number": n, "name": f"thing {n}"}}}
            for n in numbers[start : start + BATCH]
        ]
        sent(base, "POST", "/batch", {"defaults": {"method": "PUT"}, "requests": requests})


def main() -> None:
    logging.disable(logging.CRITICAL)
    server = create_server(kinto_app({}, **SETTINGS), host="127.0.0.1", port=0, clear_untrusted_proxy_headers=True)
    threading.Thread(target=server.run, daemon=True).start()
    fill(f"http://127.0.0.1:{server.effective_port}/v1", int(sys.argv[2]))
    ready(server.effective_port)
    threading.Event().wait()


if __name__ == "__main__":
    end_with_parent()
    main()
