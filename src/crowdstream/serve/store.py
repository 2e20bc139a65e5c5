"""`Store`: the folder on the disk. An append-only log, snapshots, decisions on closed tasks.

SQLite in WAL mode with ``synchronous=FULL``: when `commit` returns, what it was given is on the
disk. Knows the bytes of streams and events, not their meaning. One process a folder, by a lock that
goes when its owner does.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from crowdstream.decisions.decision import Decision
from crowdstream.errors import CrowdstreamError
from crowdstream.locking import FileLock
from crowdstream.serve import tool_table
from crowdstream.serve.tool_table import ToolChanges, ToolTable

SCHEMA = 2
"""Version of the tables; raised with a step in `MIGRATIONS` when they change."""

FIRST_TABLES = """
CREATE TABLE projects (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, settings BLOB NOT NULL,
    created REAL NOT NULL, dropped INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE probe (id INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, events BLOB NOT NULL
);
CREATE INDEX log_of_project ON log (project, seq);
CREATE TABLE closed (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, seq INTEGER NOT NULL,
    names BLOB NOT NULL, decisions BLOB NOT NULL
);
CREATE INDEX closed_of_project ON closed (project, id);
CREATE TABLE snapshots (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL,
    stream BLOB NOT NULL, state BLOB NOT NULL, PRIMARY KEY (project, seq)
);
CREATE TABLE answers (id INTEGER PRIMARY KEY, at REAL NOT NULL, answers BLOB NOT NULL);
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, alarm BLOB NOT NULL
);
CREATE TABLE history (
    project INTEGER NOT NULL, worker TEXT NOT NULL, at REAL NOT NULL, answers REAL NOT NULL,
    error_rate REAL, error_low REAL, error_high REAL, PRIMARY KEY (project, worker, at)
) WITHOUT ROWID;
"""

TABLES = FIRST_TABLES + tool_table.TABLES

MIGRATIONS: dict[int, str] = {1: tool_table.TABLES}
"""SQL that takes the tables from a version to the next."""

DATABASE = "crowdstream.db"

MOST_CLOSED = 1000
"""Tasks in one row of `closed`: to find one of them is to decode so many."""

ROWS_AT_HAND = 16
"""Rows of `closed` that are at hand, for labels that come late: they seldom come alone."""

CHECKPOINT = 2000
"""Pages of WAL after which they are moved into the database: 8 MB, a few milliseconds."""

KEPT_SNAPSHOTS = 2
"""Snapshots of a project that are kept: the latest, and one before in case it cannot be read."""


class StoreError(CrowdstreamError):
    """The folder cannot be written (or read); nothing of the change is in it."""


class ClosedTask(NamedTuple):
    """A closed task: its decision, when it closed."""

    decision: Decision
    at: float


class ProjectRow(NamedTuple):
    """A project as it is stored."""

    id: int
    name: str
    settings: bytes
    created: float


class Snapshot(NamedTuple):
    """A project's stream and the rest of its state after ``seq`` of the log."""

    seq: int
    stream: bytes
    state: bytes
    project: int
    at: float


class Changes(msgspec.Struct):
    """What one commit writes of one project."""

    project: int
    at: float
    events: bytes
    closed: list[ClosedTask]
    settings: bytes | None = None
    answers: ToolChanges | None = None


class Store:
    """The folder, locked for this process. One thread writes; `reader` gives others their own."""

    def __init__(self, folder: Path, *, checkpoint: int = CHECKPOINT) -> None:
        self.folder = folder
        self._lock = _lock(folder)
        try:
            self._db = self._connect(checkpoint)
        except sqlite3.Error as error:
            self._lock.close()
            raise StoreError(f"{folder / DATABASE}: {error}") from None
        except BaseException:
            self._lock.close()
            raise
        self.tools = ToolTable(self._db)
        self.seq = self._last_seq()
        self._raw_rows: dict[int, list[msgspec.Raw]] = {}
        self._local = threading.local()

    def _connect(self, checkpoint: int) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / DATABASE, isolation_level=None, check_same_thread=False)
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute(f"PRAGMA wal_autocheckpoint={checkpoint}")
        db.execute("PRAGMA cache_size=-32000")
        os.chmod(self.folder / DATABASE, 0o600)
        migrate(db)
        return db

    def close(self) -> None:
        """Close the database and give the folder free."""
        self._db.close()
        self._lock.close()

    # Writing ---------------------------------------------------------------------------------

    def commit(self, changes: Iterable[Changes], answers: bytes = b"") -> dict[int, list[int]]:
        """Write changes, all or none; returns the rows of the tasks closed in each project.

        They are on the disk when it returns; a `StoreError` says that nothing of them is.
        """
        seq, rows = self.seq, dict[int, list[int]]()
        with self._transaction() as db:
            at = 0.0
            for change in changes:
                at = change.at
                if change.settings is not None:
                    given = change.settings, change.project
                    db.execute("UPDATE projects SET settings = ? WHERE id = ?", given)
                if change.events:
                    seq += 1
                    db.execute(
                        "INSERT INTO log VALUES (?, ?, ?, ?)",
                        (seq, change.project, change.at, change.events),
                    )
                rows[change.project] = self._insert_closed(db, change, seq)
                if change.answers:
                    self.tools.write(change.project, change.answers, change.at)
            if answers:
                db.execute("INSERT INTO answers (at, answers) VALUES (?, ?)", (at, answers))
        self.seq = seq
        return rows

    def _insert_closed(self, db: sqlite3.Connection, change: Changes, seq: int) -> list[int]:
        rows = []
        for first in range(0, len(change.closed), MOST_CLOSED):
            part = change.closed[first : first + MOST_CLOSED]
            names = msgspec.msgpack.encode([one.decision.task for one in part])
            decisions = msgspec.msgpack.encode(part)
            done = db.execute(
                "INSERT INTO closed (project, at, seq, names, decisions) VALUES (?, ?, ?, ?, ?)",
                (change.project, change.at, seq, names, decisions),
            )
            rows.append(int(done.lastrowid or 0))
        return rows

    def create_project(self, name: str, settings: bytes, at: float) -> ProjectRow:
        """A new project, on the disk when it returns."""
        with self._transaction() as db:
            done = db.execute(
                "INSERT INTO projects (name, settings, created) VALUES (?, ?, ?)",
                (name, settings, at),
            )
        return ProjectRow(int(done.lastrowid or 0), name, settings, at)

    def save_in_slices(self, snapshot: Snapshot) -> list[Callable[[], None]]:
        """Return the steps that save a snapshot."""
        return [lambda: self.save_snapshot(snapshot)]

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """The project after all that was committed; replaces the snapshot before the last."""
        project = snapshot.project
        with self._transaction() as db:
            given = project, snapshot.seq, snapshot.at, snapshot.stream, snapshot.state
            db.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)", given)
            db.execute(
                "DELETE FROM snapshots WHERE project = ? AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE project = ? ORDER BY seq DESC LIMIT ?)",
                (project, project, KEPT_SNAPSHOTS),
            )

    def drop_labels(self, before: float) -> int:
        """Drop the log up to a time, as far as snapshots have it; returns the rows dropped."""
        with self._transaction() as db:
            done = db.execute(
                "DELETE FROM log WHERE at < ? AND seq <= "
                "(SELECT min(seq) FROM snapshots s WHERE s.project = log.project)",
                (before,),
            )
            if done.rowcount:
                db.execute("UPDATE projects SET dropped = 1")
            self.tools.drop(before, deleted_only=False)
            return done.rowcount

    def drop_deleted(self, before: float) -> None:
        """Forget answers that tools had deleted by then."""
        with self._transaction():
            self.tools.drop(before, deleted_only=True)

    def set_secret(self, project: int, tool: str, secret: str | None) -> None:
        """The secret that a tool signs with, on the disk when it returns; ``None``: none."""
        with self._transaction():
            self.tools.set_secret(project, tool, secret)

    def probe(self) -> None:
        """Write something, to see whether that is possible."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO probe VALUES (1, ?)", (time.time(),))

    def drop_answers(self, before: float) -> None:
        """Drop answers that were kept for requests that come twice, up to a time."""
        with self._transaction() as db:
            db.execute("DELETE FROM answers WHERE at < ?", (before,))

    def add_alarms(self, project: int, at: float, alarms: Iterable[bytes]) -> None:
        """Alarms that were noticed now."""
        with self._transaction() as db:
            rows = [(project, at, alarm) for alarm in alarms]
            db.executemany("INSERT INTO alarms (project, at, alarm) VALUES (?, ?, ?)", rows)

    def add_history(
        self, project: int, at: float, rows: Iterable[tuple[object, ...]], most: int
    ) -> None:
        """Samples of workers' error rates; of a worker with too many every second one goes."""
        given = [(project, worker, at, *numbers) for worker, *numbers in rows]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?, ?)", given)
            for _, worker, *_ in given:
                (count,) = db.execute(
                    "SELECT count(*) FROM history WHERE project = ? AND worker = ?",
                    (project, worker),
                ).fetchone()
                if count > most:
                    db.execute(
                        "DELETE FROM history WHERE project = ? AND worker = ? AND at IN (SELECT at "
                        "FROM (SELECT at, row_number() OVER (ORDER BY at DESC) AS n FROM history "
                        "WHERE project = ? AND worker = ?) WHERE n % 2 = 0)",
                        (project, worker, project, worker),
                    )

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise StoreError(str(error)) from None
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    # Reading, by the thread that writes ------------------------------------------------------

    def _last_seq(self) -> int:
        query = "SELECT max((SELECT coalesce(max(seq), 0) FROM log), (SELECT coalesce(max(seq), 0) FROM snapshots))"  # noqa: E501
        return int(self._db.execute(query).fetchone()[0])

    def projects(self) -> list[ProjectRow]:
        """All projects."""
        found = self._db.execute("SELECT id, name, settings, created FROM projects ORDER BY name")
        return [ProjectRow(*row) for row in found]

    def snapshots(self, project: int) -> list[Snapshot]:
        """A project's snapshots, the latest first."""
        columns = "SELECT seq, stream, state, project, at FROM snapshots"
        query = f"{columns} WHERE project = ? ORDER BY seq DESC"
        return [Snapshot(*row) for row in self._db.execute(query, (project,))]

    def dropped(self, project: int) -> bool:
        """Whether part of the log was dropped, so that it cannot be replayed from its start."""
        query = "SELECT dropped FROM projects WHERE id = ?"
        return bool(self._db.execute(query, (project,)).fetchone()[0])

    def events(self, project: int, after: int) -> Iterator[bytes]:
        """The project's log after ``after``, in order."""
        query = "SELECT events FROM log WHERE project = ? AND seq > ? ORDER BY seq"
        return (events for (events,) in self._db.execute(query, (project, after)))

    def closed_names(self, project: int) -> Iterator[tuple[int, list[str]]]:
        """The names of closed tasks by the row that has them."""
        query = "SELECT id, names FROM closed WHERE project = ? ORDER BY id"
        decode = msgspec.msgpack.Decoder(list[str]).decode
        return ((row, decode(names)) for row, names in self._db.execute(query, (project,)))

    def closed_tasks(self, row: int, offsets: Iterable[int]) -> list[ClosedTask]:
        """Some of the closed tasks of a row."""
        if row not in self._raw_rows:
            query = "SELECT decisions FROM closed WHERE id = ?"
            found = self._db.execute(query, (row,)).fetchone()
            while len(self._raw_rows) >= ROWS_AT_HAND:
                del self._raw_rows[next(iter(self._raw_rows))]
            self._raw_rows[row] = [] if found is None else _raw.decode(found[0])
        raw = self._raw_rows[row]
        return [_one_closed.decode(raw[offset]) for offset in offsets if offset < len(raw)]

    def answers(self, after: float) -> Iterator[bytes]:
        """Answers kept for requests that come twice, the oldest first."""
        query = "SELECT answers FROM answers WHERE at >= ? ORDER BY id"
        return (answers for (answers,) in self._db.execute(query, (after,)))

    def alarms(self, project: int, most: int) -> list[bytes]:
        """The latest alarms, the oldest of them first."""
        query = "SELECT alarm FROM alarms WHERE project = ? ORDER BY id DESC LIMIT ?"
        return [alarm for (alarm,) in self._db.execute(query, (project, most))][::-1]

    # Reading, by other threads ---------------------------------------------------------------

    def reader(self) -> Reader:
        """A connection of this thread's own, which sees what was committed."""
        if not hasattr(self._local, "reader"):
            self._local.reader = Reader(self.folder)
        found: Reader = self._local.reader
        return found


class Reader:
    """Reads the folder beside the thread that writes it, and never waits for it."""

    def __init__(self, folder: Path) -> None:
        uri = f"{(folder / DATABASE).resolve().as_uri()}?mode=ro"
        self._db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA query_only=1")
        self.tools = ToolTable(self._db)

    def closed(
        self, project: int, before: tuple[int, int] | None = None, *, newest_first: bool = True
    ) -> Iterator[tuple[int, int, ClosedTask]]:
        """Closed tasks with their row and offset, from a place on."""
        if newest_first:
            row, offset = before or (2**62, 0)
            query = (
                "SELECT id, decisions FROM closed WHERE project = ? AND id <= ? ORDER BY id DESC"
            )
        else:
            row, offset = before or (0, 0)
            query = "SELECT id, decisions FROM closed WHERE project = ? AND id >= ? ORDER BY id"
        for found, data in self._db.execute(query, (project, row)):
            tasks = list(enumerate(_closed.decode(data)))
            for number, task in reversed(tasks) if newest_first else tasks:
                if newest_first and found == row and number >= offset:
                    continue
                yield found, number, task

    def closed_until(self, project: int, upto: int) -> Iterator[tuple[int, list[ClosedTask]]]:
        """Closed tasks by the part of the log that closed them, up to one, in order."""
        query = "SELECT seq, decisions FROM closed WHERE project = ? AND seq <= ? ORDER BY id"
        rows = self._db.execute(query, (project, upto))
        return ((seq, _closed.decode(data)) for seq, data in rows)

    def log_until(self, project: int, upto: int) -> Iterator[tuple[int, bytes]]:
        """The project's log with the number of each part, up to one, in order."""
        query = "SELECT seq, events FROM log WHERE project = ? AND seq <= ? ORDER BY seq"
        return iter(self._db.execute(query, (project, upto)))

    def log_of(self, project: int, needle: bytes) -> Iterator[bytes]:
        """The parts of the log that mention something, the oldest first."""
        query = "SELECT events FROM log WHERE project = ? AND instr(events, ?) ORDER BY seq"
        return (events for (events,) in self._db.execute(query, (project, needle)))

    def latest_log_of(self, project: int, needle: bytes, most: int) -> Iterator[bytes]:
        """The same among the latest ``most`` parts, the newest first."""
        query = (
            "SELECT events FROM (SELECT events, seq FROM log WHERE project = ? ORDER BY seq DESC "
            "LIMIT ?) WHERE instr(events, ?) ORDER BY seq DESC"
        )
        return (events for (events,) in self._db.execute(query, (project, most, needle)))

    def history(self, project: int, worker: str) -> list[tuple[float, ...]]:
        """A worker's samples: at, answers, error rate and its limits."""
        query = (
            "SELECT at, answers, error_rate, error_low, error_high FROM history "
            "WHERE project = ? AND worker = ? ORDER BY at"
        )
        return self._db.execute(query, (project, worker)).fetchall()


_closed = msgspec.msgpack.Decoder(list[ClosedTask])
_one_closed = msgspec.msgpack.Decoder(ClosedTask)
_raw = msgspec.msgpack.Decoder(list[msgspec.Raw])


def migrate(db: sqlite3.Connection, steps: dict[int, str] = MIGRATIONS, to: int = SCHEMA) -> None:
    """Create the tables, or bring those of an older version up to this one, at once."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > to:
        raise StoreError(f"made by a later version of crowdstream (schema {found}, known: {to})")
    if found == to:
        return
    parts = [TABLES] if found == 0 else [steps[version] for version in range(found, to)]
    script = "".join(f"{part.strip().removesuffix(';')};\n" for part in parts)
    try:
        db.executescript(f"BEGIN IMMEDIATE;\n{script}PRAGMA user_version={to};\nCOMMIT;")
    except sqlite3.Error as error:
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise StoreError(f"schema {found} cannot be made {to}: {error}") from None


def backup(folder: Path, target: Path) -> None:
    """Copy a folder's database while its server runs: what was committed, whole."""
    if not (folder / DATABASE).is_file():
        raise StoreError(f"{folder}: expected a server's data folder, found no {DATABASE}")
    source = sqlite3.connect(f"{(folder / DATABASE).resolve().as_uri()}?mode=ro", uri=True)
    copy = sqlite3.connect(target / DATABASE)
    try:
        source.backup(copy)
    except sqlite3.Error as error:
        raise StoreError(f"{folder}: not copied: {error}") from None
    finally:
        copy.close()
        source.close()
    os.chmod(target / DATABASE, 0o600)


def _lock(folder: Path) -> FileLock:
    """Hold the folder's lock for as long as this process lives."""
    path = folder / "lock"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = FileLock(path)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written: {error.strerror}") from None
    try:
        if not lock.take():
            owner = lock.read(20).strip() or "unknown"
            raise StoreError(f"{folder}: in use by another server (process {owner})")
        lock.write(str(os.getpid()))
    except BaseException:
        lock.close()
        raise
    return lock
