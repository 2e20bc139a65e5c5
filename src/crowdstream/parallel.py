"""Work in threads: how many, parts of a batch, pieces made ahead. Knows nothing of the work."""

from __future__ import annotations

import functools
import itertools
import math
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TypeVar, cast

from crowdstream.defaults import THREADS_VARIABLE
from crowdstream.errors import InputError
from crowdstream.plain_text import NAME_LENGTH, shortened
from crowdstream.validation import check_number

Found = TypeVar("Found")

MOST_THREADS = 4096
"""Threads that may be asked for: more than any machine has cores, so a larger number is a slip."""

LIBRARIES = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
"""Environment variables by which the libraries below us learn it, when they are first loaded."""

TICK = 0.2
"""Seconds after which a wait is begun anew, so that Ctrl-C works when another thread got it."""

LARGE = 20_000
"""Tasks from which on threads save time."""

_asked: int | None = None


def set_threads(number: int | None) -> None:
    """Set how many threads crowdstream works in.

    By default the environment variable ``CROWDSTREAM_THREADS`` says it; without that, there are as
    many as the process may use cores: by its affinity, and by the quota of its container. Results
    do not depend on it. polars, which reads files, has threads of its own; it takes their number
    from ``POLARS_MAX_THREADS``, which the command line sets to ``CROWDSTREAM_THREADS``.

    Parameters
    ----------
    number
        How many, at least 1; None: as by default.

    Raises
    ------
    InputError
        If the number is not a whole one from 1 to 4096.

    Examples
    --------
    >>> import crowdstream as cs
    >>> cs.set_threads(2)
    >>> cs.set_threads(None)
    """
    global _asked
    if number is not None:
        check_number("number", number, 1, MOST_THREADS, whole=True)
    _asked = None if number is None else int(number)


def threads(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many threads to work in: as asked for, or as many as there are cores to use."""
    if _asked is not None:
        return _asked
    return _threads_asked_for(environment) or usable_cores()


def limit_libraries(environment: MutableMapping[str, str] = os.environ) -> None:
    """Pass ``CROWDSTREAM_THREADS`` on to libraries that are not loaded yet.

    What is set for a library itself stays.
    """
    number = _threads_asked_for(environment)
    if number is not None:
        for name in LIBRARIES:
            environment.setdefault(name, str(number))


def _threads_asked_for(environment: Mapping[str, str]) -> int | None:
    text = environment.get(THREADS_VARIABLE, "").strip()
    if not text:
        return None
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(MOST_THREADS))
    number = int(text) if digits else 0
    if not 1 <= number <= MOST_THREADS:
        expected = f"a whole number from 1 to {MOST_THREADS:,}"
        raise InputError(THREADS_VARIABLE, expected, shortened(repr(text), NAME_LENGTH))
    return number


@functools.cache
def usable_cores(root: Path = Path("/")) -> int:
    """Return how many cores the process may use: by its affinity and its container, at least 1."""
    if hasattr(os, "sched_getaffinity"):  # on Linux
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = _container_quota(root)
    if quota is not None:
        cores = min(cores, math.ceil(quota))
    return max(cores, 1)


def _container_quota(root: Path) -> float | None:
    """Return the cores' worth of time that control groups allow; None: no limit, or no groups.

    A limit of a group holds for those inside it too. Inside a container the groups' folder begins
    at the container's own group though the process may be listed by its name outside, so folders
    that are not there are passed over.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = []
    for line in lines:
        _, controllers, name = (*line.split(":", 2), "", "")[:3]
        group = PurePosixPath("/", *(part for part in name.split("/") if part not in ("", "..")))
        for each in (group, *group.parents):
            inside = str(each).lstrip("/")
            if controllers == "":  # version 2: all controllers in one tree
                found.append(_quota(root / "sys/fs/cgroup" / inside / "cpu.max"))
            elif "cpu" in controllers.split(","):
                for tree in (controllers, "cpu"):
                    folder = root / "sys/fs/cgroup" / tree / inside
                    found.append(_quota(folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us"))
    return min((each for each in found if each is not None), default=None)


def _quota(*files: Path) -> float | None:
    """Return time allowed over period, from one file or two; None where there is no limit."""
    try:
        quota, period = " ".join(file.read_text("utf-8") for file in files).split()
        allowed = float(quota) / float(period)
    except (OSError, ValueError, ZeroDivisionError):  # "max" is no number: no limit
        return None
    return allowed if allowed > 0.0 else None  # version 1 writes −1 for no limit


def parts_of(tasks: int) -> list[tuple[int, int]]:
    """Return the first and the last task of each part of so many tasks.

    >>> parts_of(7)
    [(0, 7)]
    """
    parts = threads() if tasks >= LARGE else 1
    return list(itertools.pairwise(tasks * k // parts for k in range(parts + 1)))


def side_by_side(work: Callable[[int], Found], parts: int) -> list[Found]:
    """Do the work on each part in as many threads as there may be; return the results in order."""
    number = 1 if parts == 1 else min(parts, threads())
    if number == 1:
        return [work(part) for part in range(parts)]
    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(work, range(parts)))


def ahead(pieces: Iterable[Found]) -> Iterator[Found]:
    """Yield pieces, each made in another thread while the one before is worked on.

    The thread ends with the process: whoever leaves early need not wait for the next piece.

    >>> list(ahead(iter([1, 2, 3])))
    [1, 2, 3]
    """
    made: queue.Queue[tuple[bool, Found | BaseException | None]] = queue.Queue(1)

    def make() -> None:
        try:
            for piece in pieces:
                made.put((True, piece))
            made.put((False, None))
        except BaseException as error:  # raised again where the pieces are taken
            made.put((False, error))

    threading.Thread(target=make, daemon=True).start()
    while True:
        try:
            more, piece = made.get(timeout=TICK)
        except queue.Empty:
            continue
        if isinstance(piece, BaseException):
            raise piece
        if not more:
            return
        yield cast("Found", piece)
