"""A Django REST framework app with its three paginators, each over the same things. Arguments: folder, number."""

import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from lifeline import end_with_parent, ready

sys.path.insert(0, str(Path(__file__).parent))


class Server(ThreadingMixIn, WSGIServer):
    """One thread per request."""

    daemon_threads = True


class Quiet(WSGIRequestHandler):
    """No log line per request."""

    def log_message(self, *_args: object) -> None:
        """Log nothing."""


def main() -> None:
    folder, number = Path(sys.argv[1]), int(sys.argv[2])
    settings.configure(
        SECRET_KEY="for tests",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="shop.urls",
        INSTALLED_APPS=[
            "django.contrib.contenttypes",
            "django.contrib.auth",
            "rest_framework",
            "drf_spectacular",
            "shop",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(folder / "shop.sqlite3")}},
        REST_FRAMEWORK={
            "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
            "UNAUTHENTICATED_USER": None,
            "DEFAULT_AUTHENTICATION_CLASSES": [],
            "DEFAULT_PERMISSION_CLASSES": [],
        },
        USE_TZ=True,
    )
    django.setup()
    call_command("migrate", run_syncdb=True, verbosity=0)
    from shop.models import Thing

    Thing.objects.bulk_create(Thing(id=n, name=f"thing {n}", is_odd=n % 2 == 1) for n in range(1, number + 1))
    with make_server("127.0.0.1", 0, get_wsgi_application(), Server, Quiet) as server:
        ready(server.server_port)
        server.serve_forever()


if __name__ == "__main__":
    end_with_parent()
    main()
