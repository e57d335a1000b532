"""pygeoapi over one collection of points. Arguments: folder, number.

The address is part of its configuration, so the socket is opened first.
"""

import json
import os
import socket
import sys
from pathlib import Path

import yaml
from lifeline import end_with_parent, ready
from werkzeug.serving import make_server


def configuration(folder: Path, base_url: str, points: Path) -> dict[str, object]:
    """The configuration of pygeoapi."""
    provider = {"type": "feature", "name": "GeoJSON", "data": str(points), "id_field": "id"}
    return {
        "server": {
            "bind": {"host": "127.0.0.1", "port": 0},
            "url": base_url,
            "mimetype": "application/json; charset=UTF-8",
            "encoding": "utf-8",
            "languages": ["en-US"],
            "gzip": False,
            "pretty_print": False,
            "limits": {"default_items": 20, "max_items": 100, "on_exceed": "throttle"},
            "map": {"url": "https://tile.invalid", "attribution": ""},
            "admin": False,
        },
        "logging": {"level": "ERROR"},
        "metadata": {
            "identification": {
                "title": "Points",
                "description": "Points",
                "keywords": ["points"],
                "keywords_type": "theme",
                "terms_of_service": "none",
                "url": base_url,
            },
            "license": {"name": "none", "url": base_url},
            "provider": {"name": "none", "url": base_url},
            "contact": {"name": "none", "email": "none@example.com", "url": base_url},
        },
        "resources": {
            "points": {
                "type": "collection",
                "title": "Points",
                "description": "Points",
                "keywords": ["points"],
                "links": [],
                "extents": {
                    "spatial": {"bbox": [-180, -90, 180, 90], "crs": "http://www.opengis.net/def/crs/OGC/1.3/CRS84"}
                },
                "providers": [provider],
            },
        },
    }


def feature(number: int) -> dict[str, object]:
    """One point."""
    place = {"type": "Point", "coordinates": [number % 360 - 180, number % 180 - 90]}
    return {
        "type": "Feature",
        "id": number,
        "geometry": place,
        "properties": {"number": number, "name": f"thing {number}"},
    }


def main() -> None:
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    points = folder / "points.geojson"
    features = [feature(n) for n in range(1, number + 1)]
    points.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    (folder / "config.yml").write_text(yaml.safe_dump(configuration(folder, f"http://127.0.0.1:{port}", points)))
    os.environ["PYGEOAPI_CONFIG"] = str(folder / "config.yml")
    os.environ["PYGEOAPI_OPENAPI"] = str(folder / "openapi.yml")
    from pygeoapi.openapi import generate_openapi_document

    text = generate_openapi_document(folder / "config.yml", "yaml", fail_on_invalid_collection=True)
    (folder / "openapi.yml").write_text(text)
    from pygeoapi.flask_app import APP

    server = make_server("127.0.0.1", port, APP, threaded=True, fd=listener.fileno())
    ready(port)
    server.serve_forever()


if __name__ == "__main__":
    end_with_parent()
    main()
