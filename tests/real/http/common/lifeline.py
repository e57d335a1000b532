"""For the servers: report the port once requests are accepted, and end when the parent process ends.

Runs in the environment of each server, so it uses only the standard library.
"""

import os
import sys
import threading


def end_with_parent() -> None:
    """End this process when its standard input closes, at the latest when the parent is gone."""
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def ready(port: int) -> None:
    """Report the port to the parent."""
    sys.stdout.write(f"ready {port}\n")
    sys.stdout.flush()
