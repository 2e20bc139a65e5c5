"""One process at a time, on systems with fcntl, with msvcrt, and with neither."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from crowdstream.cli import stream_output, stream_position
from crowdstream.cli.states import locked
from crowdstream.errors import CrowdstreamError, StateError
from crowdstream.locking import PLACE, FileLock

needs_fcntl = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed otherwise")

HOLD = (
    "import sys; from crowdstream.locking import FileLock; lock = FileLock(sys.argv[1]); "
    "print(lock.take(), flush=True); sys.stdin.read()"
)
"""Takes a lock, says so, and holds it until its standard input ends."""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the lock."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        yield other
        if other.poll() is None:
            other.kill()


def test_another_process_has_it_until_it_gives_it_back(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as other, FileLock(tmp_path / "lock") as lock:
        assert not lock.take()
        other.communicate("")
        assert lock.take()


@needs_fcntl
def test_a_lock_is_gone_when_its_owner_is_killed(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as other, FileLock(tmp_path / "lock") as lock:
        assert not lock.take()
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert lock.take()


def test_waiting_ends_when_the_other_has_given_it_back(tmp_path: Path) -> None:
    with holder(tmp_path / "lock") as other, FileLock(tmp_path / "lock") as lock:
        taken = threading.Event()

        def wait() -> None:
            if lock.take(wait=True):
                taken.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not taken.wait(0.2), "the other still has it"
        other.communicate("")
        assert taken.wait(30.0)
        waiting.join()


def test_the_owner_can_be_read_while_it_holds_the_lock(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock") as mine, FileLock(tmp_path / "lock") as other:
        assert mine.take()
        mine.write("a longer name")
        mine.write("me")
        assert not other.take()
        assert other.read(20) == "me"


def test_a_file_system_without_locks_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    unable = SimpleNamespace(flock=refuse, LOCK_EX=2, LOCK_NB=4)
    monkeypatch.setitem(sys.modules, "fcntl", unable)
    with FileLock(tmp_path / "lock") as lock:
        for wait in (False, True):
            with pytest.raises(CrowdstreamError, match="cannot be locked: No locks available"):
                lock.take(wait=wait)


class Windows:
    """msvcrt as it is documented: bytes are locked at the file's position, for one handle."""

    LK_LOCK, LK_NBLCK = 1, 2

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], int] = {}
        self.gave_up = 0

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert count == 1
        inode = os.fstat(descriptor).st_ino
        place = (inode, os.lseek(descriptor, 0, os.SEEK_CUR))
        if self.held.setdefault(place, descriptor) == descriptor:
            return
        if mode == self.LK_LOCK:  # "if after 10 attempts": the caller begins anew
            self.gave_up += 1
            if self.gave_up == 2:
                del self.held[place]
            raise OSError(getattr(errno, "EDEADLOCK", errno.EDEADLK), "Resource deadlock avoided")
        raise OSError(errno.EACCES, "Permission denied")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Windows:
    made = Windows()
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "termios", None)
    monkeypatch.setitem(sys.modules, "msvcrt", made)
    return made


def test_windows_locks_a_byte_that_nobody_reads(tmp_path: Path, windows: Windows) -> None:
    with FileLock(tmp_path / "lock") as mine, FileLock(tmp_path / "lock") as other:
        assert mine.take()
        mine.write("123")
        assert not other.take()
        assert other.read(20) == "123"
        assert {place for _, place in windows.held} == {PLACE}
        assert other.take(wait=True), "though the system gave up twice"
        assert windows.gave_up == 2


def test_a_state_is_held_by_one_process_on_windows_too(tmp_path: Path, windows: Windows) -> None:
    state = str(tmp_path / "crowd.state")
    with (
        locked(state),
        pytest.raises(StateError, match="in use by another process"),
        locked(state),
    ):
        pass


def test_a_system_with_neither_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", None)
    state = str(tmp_path / "crowd.state")
    with pytest.raises(CrowdstreamError, match="has no locks on files"), locked(state):
        pass


IMPORT_ALL = """
import importlib, pkgutil, sys
for name in ("fcntl", "termios", "msvcrt"):
    sys.modules[name] = None
import crowdstream
imported, without = 0, []
for found in pkgutil.walk_packages(crowdstream.__path__, "crowdstream."):
    try:
        importlib.import_module(found.name)
        imported += 1
    except ModuleNotFoundError as error:
        top = str(error.name).partition(".")[0]
        if top == "crowdstream" or sys.modules.get(top, top) is None:
            raise
        without.append(f"{found.name} (needs {top})")
print(imported)
print("\\n".join(without), file=sys.stderr)
"""


def test_every_module_can_be_imported_where_unix_is_not() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IMPORT_ALL], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300, "most of the package was not reached"
    if done.stderr.strip():
        print("skipped for want of an extra:", done.stderr)


def test_pipes_that_cannot_be_asked_count_as_read(windows: Windows) -> None:
    reading, writing = os.pipe()
    try:
        output = stream_output.PipeOutput(writing)
        output.write(b"decision\n")
        assert output._capacity == stream_output.CAPACITY
        started = time.monotonic()
        output.end()
        assert time.monotonic() - started < stream_output.PATIENCE, "it does not wait for nothing"
        assert output._unread() == []
        assert os.read(reading, 100) == b"decision\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_file_is_marked_alike_without_pread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 1000)
    with open(tmp_path / "file", "rb") as file:
        file.seek(7)
        wanted = stream_position.mark_of(file.fileno(), 200_000)
        monkeypatch.delattr(os, "pread")
        assert stream_position.mark_of(file.fileno(), 200_000) == wanted
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 7, "where it is read next stays"
