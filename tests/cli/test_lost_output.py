"""What a process does when its output cannot be written, and when it receives a signal to stop."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

RUNAX = [sys.executable, "-m", "runax_cli"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"], ["runs", "schema"]])
def test_failed_output_is_an_error(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*RUNAX, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=90, check=False
        )
    assert done.returncode == 1
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["config", "show"]])
def test_a_reader_that_went_away_is_no_error(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*RUNAX, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=90, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_in_the_background_of_a_script_stops_when_it_is_told_to() -> None:
    """Such a job inherits SIGINT as ignored."""
    ignored = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        server = subprocess.Popen(
            [*RUNAX, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    finally:
        signal.signal(signal.SIGINT, ignored)
    assert server.stderr is not None
    assert "http://127.0.0.1:" in server.stderr.readline()
    server.terminate()
    server.communicate(timeout=90)
    assert server.returncode is not None
