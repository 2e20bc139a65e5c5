"""The folder of a stream: what each micro-batch commits, in one file, and which tables go with it.

A commit is written under a temporary name, synced and renamed, so it is there as a whole or not at
all. It names the tables of labels and names that belong to it; those that no commit of the last
two names are removed. Knows nothing of Spark.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import msgspec

from crowdstream.errors import CrowdstreamError, InputError, StateError
from crowdstream.estimators import Estimator
from crowdstream.serialization import PackedArrays, read_state, seal, unseal

SAVED_AS = "micro"

KEPT = 2
"""Commits that are kept: one may have been written as the machine went down."""


class StreamCounts(msgspec.Struct):
    """What became of all rows that came, and of all tasks.

    ``rows`` is the sum of labels, repeated, replaced, late, bad, ahead, other and all that is null.

    Attributes
    ----------
    rows
        Rows that came.
    labels
        Those that are labels, one per worker and task.
    repeated, replaced
        The same label again, which changed nothing; another one, of which the last given stands.
    other
        Rows of other questions than the one that ``question=`` names.
    late
        Labels of closed tasks, beyond ``max_labels``, or from before the watermark.
    bad
        Rows whose task, worker or label is a fraction.
    ahead
        Rows whose time is more than a day ahead of the clock.
    null_task, null_worker, null_label, null_at
        Rows that lack something.
    settled, full, idle, end
        Tasks that closed, by why.
    open
        Tasks that take labels.
    """

    rows: int = 0
    labels: int = 0
    repeated: int = 0
    replaced: int = 0
    late: int = 0
    bad: int = 0
    ahead: int = 0
    null_task: int = 0
    null_worker: int = 0
    null_label: int = 0
    null_at: int = 0
    settled: int = 0
    full: int = 0
    idle: int = 0
    end: int = 0
    open: int = 0
    other: int = 0

    @property
    def closed(self) -> int:
        """Tasks that closed."""
        return self.settled + self.full + self.idle + self.end


class Commit(msgspec.Struct):
    """All that is known after a micro-batch; ``step`` counts commits, ``batch`` is Spark's id."""

    step: int
    batch: int
    crowd: bytes
    kinds: dict[str, str]
    timed: bool
    counts: StreamCounts = msgspec.field(default_factory=StreamCounts)
    open_sums: PackedArrays = {}
    """Agreement of the tasks that are open, which the crowd's own sums hold too."""
    open_labels: int = 0
    open_size: tuple[int, int] = (0, 2)
    """Workers and classes, or places, that those sums have room for."""
    newest: int | None = None
    """The latest time of a label so far, in microseconds."""
    left: str = ""
    """The table of labels of open tasks."""
    closed: list[str] = []
    """The tables of names of closed tasks."""
    closed_names: int = 0
    before: list[str] = []
    """The tables of the commit before."""
    question: str = ""
    """The question that the stream holds; empty if rows name none."""


class StreamState(msgspec.Struct, frozen=True):
    """What a stream on a cluster knows after its last micro-batch.

    Attributes
    ----------
    crowd
        The estimator.
    batch
        Spark's id of that micro-batch; −1 before the first.
    counts
        What became of rows and tasks.
    newest
        The latest time of a label, in seconds; ``None`` if labels have none.
    open_labels
        The Parquet table with the labels of open tasks; ``None`` if there are none.
    decisions
        The folder of Parquet tables with the decisions on closed tasks.
    """

    crowd: Estimator
    batch: int
    counts: StreamCounts
    newest: float | None
    open_labels: Path | None
    decisions: Path


def stream_state(state_dir: str | os.PathLike[str]) -> StreamState:
    """What the stream in a folder knows after its last micro-batch. Needs no Spark that runs.

    Parameters
    ----------
    state_dir
        The folder that `stream` was given.

    Examples
    --------
    >>> from crowdstream import spark
    >>> state = spark.stream_state("/data/consensus")  # doctest: +SKIP
    >>> state.counts.closed, state.counts.open, state.crowd.workers()  # doctest: +SKIP
    """
    folder = StreamFolder(state_dir)
    commit = folder.latest()
    if commit is None:
        raise StateError(f"{folder.path}: no stream has been here")
    return StreamState(
        Estimator.load(commit.crowd),
        commit.batch,
        commit.counts,
        None if commit.newest is None else commit.newest / 1e6,
        folder.path / commit.left if commit.left else None,
        folder.path / "decisions",
    )


class StreamFolder:
    """A folder with commits and tables, on a file system that this machine and executors share.

    Parameters
    ----------
    path
        Where it is.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        text = os.fspath(path)
        text = text.removeprefix("file://") if text.startswith("file:///") else text
        if "://" in text:
            raise InputError("state_dir", "a folder that is mounted here", repr(text))
        self.path = Path(text).absolute()
        self.commits = self.path / "commits"

    def make(self) -> None:
        """Make the folder if it is not there."""
        try:
            self.commits.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StateError(f"{self.path}: cannot be written: {error.strerror}") from None

    def latest(self) -> Commit | None:
        """The last commit that is whole; ``None`` if there is none."""
        found = self._numbers()
        for number in reversed(found):
            try:
                data = unseal(SAVED_AS, read_state(self._name(number)))
                return msgspec.msgpack.decode(data, type=Commit)
            except (StateError, msgspec.MsgspecError) as error:
                broken = error
        if found:
            raise StateError(f"{self.commits}: no commit can be read: {broken}")
        return None

    def commit(self, commit: Commit) -> None:
        """Write a commit and wait until it is on the disk; then remove what is of no use now."""
        target = self._name(commit.step)
        handle, name = tempfile.mkstemp(prefix=".commit.", dir=self.commits)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(seal(SAVED_AS, msgspec.msgpack.encode(commit)))
                file.flush()
                os.fsync(file.fileno())
            os.link(name, target)  # unlike a rename, refuses to replace another's
        except FileExistsError:
            raise CrowdstreamError(f"{self.path}: another process uses this folder") from None
        finally:
            os.unlink(name)
        sync(self.commits)
        self._clean(commit)

    def _clean(self, commit: Commit) -> None:
        """Remove older commits, and tables that none of those kept names."""
        for number in self._numbers()[:-KEPT]:
            self._name(number).unlink(missing_ok=True)
        used = {commit.left, *commit.closed, *commit.before}
        for step in (self.path / "tables").glob("step=*"):
            names = {table: f"tables/{step.name}/{table.name}" for table in step.glob("closed=*")}
            for table in [table for table, name in names.items() if name not in used]:
                shutil.rmtree(table, ignore_errors=True)
            if not used & set(names.values()):
                shutil.rmtree(step, ignore_errors=True)

    def _numbers(self) -> list[int]:
        return sorted(int(path.stem) for path in self.commits.glob("[0-9]*.state"))

    def _name(self, number: int) -> Path:
        return self.commits / f"{number:012d}.state"


def sync(folder: Path) -> None:
    """Wait until a folder and the files in it are on the disk."""
    for path in (*folder.rglob("*"), folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
