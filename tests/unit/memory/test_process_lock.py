"""Process locks: held while their process runs, released and removed when it is dead."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from runax_cli.memory.process_lock import ProcessLock, is_held

HOLDER = """
import sys
from pathlib import Path
from runax_cli.memory.process_lock import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
print(lock.name, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def test_a_lock_is_held_until_it_is_released(folder: Path) -> None:
    lock, other = ProcessLock(folder), ProcessLock(folder)
    (path,) = folder.glob(f"{lock.name}*")
    assert other.is_alive(lock.name)
    assert is_held(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lock.release()
    lock.release()
    assert not path.exists()
    assert not other.is_alive(lock.name)
    assert not path.exists()
    other.release()


def test_a_missing_file_is_not_held_and_not_created(folder: Path) -> None:
    folder.mkdir()
    assert not is_held(folder / "missing")
    assert not list(folder.iterdir())


def test_the_lock_of_a_killed_process_is_removed(folder: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        name = holder.stdout.readline().strip()
        own = ProcessLock(folder)
        assert own.is_alive(name)
        holder.kill()
        holder.wait()
        assert not own.is_alive(name)
        assert [path.stem for path in folder.iterdir()] == [own.name]
        own.release()
