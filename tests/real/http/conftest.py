"""HTTP servers from the package registries, started from the folder that `.ci/servers` fills."""

import hashlib
import os
import queue
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_FOLDER = Path(os.environ.get("RUNAX_SERVERS") or Path.home() / ".cache" / "runax-servers")
_IS_REQUIRED = os.environ.get("RUNAX_REQUIRE_SERVERS") == "1"
_START_S = 60.0
_STOP_S = 10.0


def installed(name: str) -> Path:
    """The environment of a server; without it the test is skipped, or fails if servers are required."""
    folder, lists = _FOLDER / name, [HERE / name / each for each in ("requirements.txt", "package-lock.json")]
    wanted = next(hashlib.sha256(path.read_bytes()).hexdigest() for path in lists if path.exists())
    stamp = folder / ".stamp"
    if stamp.exists() and stamp.read_text().strip() == wanted:
        return folder
    why = f"the server '{name}' is not installed in '{folder}', or not from the present list; run .ci/servers"
    if _IS_REQUIRED:
        pytest.fail(why)
    pytest.skip(why)


def _command(name: str, folder: Path, records: int) -> list[str]:
    environment, arguments = installed(name), [str(folder), str(records)]
    if (HERE / name / "serve.cjs").exists():
        return ["node", str(HERE / name / "serve.cjs"), *arguments]
    return [str(environment / "bin" / "python"), str(HERE / name / "serve.py"), *arguments]


@contextmanager
def _running(name: str, folder: Path, records: int) -> Iterator[str]:
    """The server's base URL while the block runs. Its standard input ties it to this process."""
    variables = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(HERE / "common"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NODE_PATH": str(_FOLDER / name / "node_modules"),
    }
    log = folder / "stderr.log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            _command(name, folder, records), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=variables
        )
        try:
            yield f"http://127.0.0.1:{_port(process, log)}"
        finally:
            _stop(process)


def _port(process: "subprocess.Popen[bytes]", log: Path) -> int:
    """The port that the server reports."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    assert process.stdout is not None
    stdout = process.stdout
    threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
    try:
        word, _, port = lines.get(timeout=_START_S).decode().partition(" ")
    except queue.Empty:
        word, port = "", ""
    if word != "ready":
        pytest.fail(f"the server did not start: {log.read_text()[-3000:]}")
    return int(port)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    for end in (process.terminate, process.kill):
        end()
        try:
            process.communicate(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            continue
        return


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Starts a server once per module: its name and number of records give its base URL."""
    running: dict[tuple[str, int], str] = {}
    with ExitStack() as stack:

        def start(name: str, *, records: int) -> str:
            if (name, records) not in running:
                folder = tmp_path_factory.mktemp(name)
                running[name, records] = stack.enter_context(_running(name, folder, records))
            return running[name, records]

        yield start
