"""Exclusive locks on files, between processes. Knows nothing of what the files are for.

Over ``fcntl`` where there is one, over ``msvcrt`` on Windows. A lock is gone when its owner is,
however it ends, so nobody has to clear up after a crash.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any, Self

from crowdstream.errors import CrowdstreamError

PLACE = 1 << 30
"""Byte of the file that is locked on Windows, where what is locked cannot be read by others: far
beyond what is written in it."""

TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK, getattr(errno, "EDEADLOCK", errno.EDEADLK)}
"""Errors by which systems say that another process has the lock."""


class FileLock:
    """An exclusive lock on a file, which is made if it is not there.

    Parameters
    ----------
    path
        The file. It stays when the lock is given back.
    mode
        Permissions of a new file.

    Raises
    ------
    OSError
        If the file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with FileLock(f"{folder}/lock") as lock, FileLock(f"{folder}/lock") as other:
    ...         lock.take(), other.take()
    (True, False)
    """

    def __init__(self, path: str | Path, mode: int = 0o600) -> None:
        self.path = str(path)
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT, mode)

    def take(self, *, wait: bool = False) -> bool:
        """Take the lock; return False if another has it.

        Parameters
        ----------
        wait
            Wait until the other has given it back.

        Raises
        ------
        CrowdstreamError
            If the system or the file system knows no locks.
        """
        while True:
            try:
                _lock(self.descriptor, wait)
            except OSError as error:
                if error.errno not in TAKEN:
                    raise CrowdstreamError(
                        f"{self.path}: cannot be locked: {error.strerror}; use a folder on a disk "
                        "of this machine"
                    ) from None
                if not wait:
                    return False
                continue  # Windows gives up waiting after ten seconds
            return True

    def write(self, text: str) -> None:
        """Write something into the file for others to read, such as who has the lock."""
        os.ftruncate(self.descriptor, 0)
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        os.write(self.descriptor, text.encode())

    def read(self, size: int) -> str:
        """Read what its owner has written, at most so many bytes."""
        os.lseek(self.descriptor, 0, os.SEEK_SET)
        return os.read(self.descriptor, size).decode("utf-8", "replace")

    def close(self) -> None:
        """Give the lock back, if it was taken."""
        os.close(self.descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _lock(descriptor: int, wait: bool) -> None:
    """Lock an open file; raise OSError if another has it locked and we do not wait."""
    if (fcntl := _found("fcntl")) is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif (msvcrt := _found("msvcrt")) is not None:
        os.lseek(descriptor, PLACE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        raise CrowdstreamError(
            f"{sys.platform} has no locks on files, which keep two processes from writing one "
            "state: run this on Linux, macOS or Windows"
        )


def _found(name: str) -> Any:
    """Return a module of the standard library, None where the system has none."""
    module: ModuleType | None
    try:
        module = importlib.import_module(name)
    except ImportError:
        module = None
    return module
