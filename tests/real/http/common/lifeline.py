"""For the servers: say the port once requests are taken, and end with whoever started the process.

Runs in each server's own environment, so it knows the standard library only.
"""

import os
import sys
import threading


def end_with_parent() -> None:
    """End this process when its standard input closes, which happens at the latest when the parent is gone."""
    threading.Thread(target=_wait, daemon=True).start()


def _wait() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def ready(port: int) -> None:
    """Tell the parent."""
    sys.stdout.write(f"ready {port}\n")
    sys.stdout.flush()
