"""`Store`: the folder on the disk. An append-only log, snapshots, decisions on closed tasks.

SQLite in WAL mode with ``synchronous=FULL``: when `commit` returns, what it was given is on the
disk. Knows the bytes of streams and events, not their meaning. One process a folder, by a lock that
goes when its owner does.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from crowdstream.decisions.decision import Decision
from crowdstream.locking import FileLock
from crowdstream.serve.checksums import Counts, Head, checksum, stored
from crowdstream.serve.head_file import FILE, HeadFile, read_head
from crowdstream.serve.schema import DamageError, StoreError, check_tables, make_tables
from crowdstream.serve.tool_table import ToolChanges, ToolTable

DATABASE = "crowdstream.db"

MOST_CLOSED = 1000
"""Tasks in one row of `closed`: to find one of them is to decode so many."""

ROWS_AT_HAND = 16
"""Rows of `closed` that are at hand, for labels that come late: they seldom come alone."""

CHECKPOINT = 2000
"""Pages of WAL after which they are moved into the database: 8 MB, a few milliseconds."""

FOLDER = 0
"""The row of `heads` that has the folder's counts."""

PROJECT = "id, name, settings, created, dropped"
SNAPSHOT = "project, seq, at, last, parts, state"
"""Columns of tables, in the order in which checksums cover them."""

PART = 1 << 20
"""Bytes of a snapshot that are written at once, in a few milliseconds."""

Step = Callable[[], object]
"""Something short that is done between two groups; it is done again as long as it gives true."""

KEPT_SNAPSHOTS = 2
"""Snapshots of a project that are kept: the latest, and one before in case it cannot be read."""


log = logging.getLogger("crowdstream.serve")


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
    damage: str = ""
    """Damage of its record; empty if it is intact."""


class Snapshot(NamedTuple):
    """A project's stream and the rest of its state after ``seq`` of the log.

    ``last``: the checksum of the log's record before it.
    """

    seq: int
    stream: bytes
    state: bytes
    last: bytes
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
        with contextlib.ExitStack() as held:
            held.callback(take_lock(folder).close)
            self._check_commits()
            try:
                self._db = self._connect(checkpoint)
                held.callback(self._db.close)
                self._counts, self._heads = read_heads(self._db)
                self._head_file = HeadFile(folder)
                held.callback(self._head_file.close)
                self._head_file.write(self._counts.commits)
            except (sqlite3.Error, OSError) as error:
                raise StoreError(f"{folder / DATABASE}: {error}") from None
            self._held = held.pop_all()
        self.tools = ToolTable(self._db)
        self._new = self._counts, dict[int, Head]()
        """Counts and heads as the transaction that is open makes them."""
        self._made_anew: set[int] = set()
        """Projects that are being made, to take another's place."""
        self._raw_rows: dict[int, list[msgspec.Raw]] = {}
        self._local = threading.local()

    @property
    def seq(self) -> int:
        """The number of the last record in the log."""
        return self._counts.seq

    def _check_commits(self) -> None:
        """Refuse a folder whose last commits are gone, before SQLite overwrites what is left."""
        if not (self.folder / DATABASE).exists():
            return
        known = read_head(self.folder)
        if known is None:
            log.error("%s is damaged: whether the last commits are there is unknown", FILE)
            return
        reader = Reader(self.folder)
        try:
            lost = known - reader.commits()
        finally:
            reader.close()
        if lost > 0:
            raise DamageError(
                f"{self.folder}: the last {lost} commits are gone: {DATABASE}-wal or the disk is "
                f"damaged; crowdstream repair {self.folder} goes on without them"
            )

    def _connect(self, checkpoint: int) -> sqlite3.Connection:
        db = sqlite3.connect(self.folder / DATABASE, isolation_level=None, check_same_thread=False)
        db.text_factory = _text
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("PRAGMA secure_delete=ON")  # what is deleted is not to be read in free pages
        db.execute(f"PRAGMA wal_autocheckpoint={checkpoint}")
        db.execute("PRAGMA cache_size=-32000")
        os.chmod(self.folder / DATABASE, 0o600)
        make_tables(db)
        return db

    def close(self) -> None:
        """Close the database and give the folder free."""
        self._held.close()

    # Writing ---------------------------------------------------------------------------------

    def commit(self, changes: Iterable[Changes], answers: bytes = b"") -> dict[int, list[int]]:
        """Write changes, all or none; returns the rows of the tasks closed in each project.

        They are on the disk when it returns; a `StoreError` says that nothing of them is.
        """
        rows = dict[int, list[int]]()
        with self._transaction() as db:
            at = 0.0
            for change in changes:
                at = change.at
                if change.settings is not None:
                    self._write_settings(db, change.project, change.settings)
                if change.events:
                    self._insert_events(db, change)
                rows[change.project] = self._insert_closed(db, change)
                if change.answers:
                    self.tools.write(change.project, change.answers, change.at)
            if answers:
                insert = "INSERT INTO answers (at, answers, checksum) VALUES (?, ?, ?)"
                db.execute(insert, (at, answers, checksum(at, answers)))
        return rows

    def _insert_events(self, db: sqlite3.Connection, change: Changes) -> None:
        counts, head = self._new[0], self._head(change.project)
        counts.seq += 1
        head.log = head.log.add(change.project, counts.seq, change.at, change.events)
        given = counts.seq, change.project, change.at, head.log.last, change.events
        db.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?)", given)

    def _insert_closed(self, db: sqlite3.Connection, change: Changes) -> list[int]:
        rows = []
        counts, project, at = self._new[0], change.project, change.at
        for record in closed_records(project, at, counts.seq, change.closed):
            counts.closed += 1
            row, head = counts.closed, self._head(project)
            names, contents = record["names"], record["contents"]
            head.closed = head.closed.add(project, row, at, counts.seq, names, contents)
            signed = head.closed.last
            given = row, project, at, counts.seq, signed, contents, names, record["decisions"]
            db.execute("INSERT INTO closed VALUES (?, ?, ?, ?, ?, ?, ?, ?)", given)
            rows.append(row)
        return rows

    def create_project(self, name: str, settings: bytes, at: float, events: bytes) -> ProjectRow:
        """A new project, on the disk when it returns; its log begins with the events."""
        with self._transaction() as db:
            counts = self._new[0]
            counts.projects += 1
            number = counts.projects
            record = number, name, settings, float(at), 0
            db.execute(
                "INSERT INTO projects VALUES (?, ?, ?, ?, ?, ?)", (*record, checksum(*record))
            )
            self._new[1][number] = Head()
            self._insert_events(db, Changes(number, float(at), events, []))
        return ProjectRow(number, name, settings, at)

    def begin_anew(self) -> int:
        """Begin a project that is to take another's place; returns its number."""
        with self._transaction() as db:
            counts, heads = self._new
            counts.projects += 1
            number = counts.projects
            heads[number] = Head()
            db.execute("INSERT INTO gone VALUES (?, ?)", (number, checksum(number)))
        self._made_anew.add(number)
        return number

    def end_anew(self, number: int) -> None:
        """Let what was begun be swept away, unless it has taken its place."""
        self._made_anew.discard(number)

    def exchange(self, old: int, new: int, task: str | None, worker: str | None) -> None:
        """Let a project be the one that was made anew, without what tools told of a task or worker.

        Samples and alarms are not taken along: they are of the labels as they were.
        """
        with self._transaction() as db:
            db.execute("UPDATE projects SET id = ? WHERE id = ?", (new, old))
            self._sign_project(db, new)
            db.execute("DELETE FROM gone WHERE project = ?", (new,))
            self._let_go(db, old)
            keep = "project = ? AND task IS NOT ? AND worker IS NOT ?"
            kept = db.execute(f"SELECT * FROM tool_answers WHERE {keep}", (old, task, worker))
            secrets = db.execute("SELECT * FROM hook_secrets WHERE project = ?", (old,))
            for table, rows in (("tool_answers", kept), ("hook_secrets", secrets)):
                records = [(new, *row[1:-1]) for row in rows.fetchall()]
                signed = [(*record, checksum(*record)) for record in records]
                if signed:
                    marks = ", ".join("?" * len(signed[0]))
                    db.executemany(f"INSERT INTO {table} VALUES ({marks})", signed)
        del self._heads[old]

    def remove_project(self, number: int) -> None:
        """Remove a project; its rows are swept away later."""
        with self._transaction() as db:
            db.execute("DELETE FROM projects WHERE id = ?", (number,))
            self._let_go(db, number)
        del self._heads[number]

    @staticmethod
    def _let_go(db: sqlite3.Connection, number: int) -> None:
        db.execute("INSERT INTO gone VALUES (?, ?)", (number, checksum(number)))
        db.execute("DELETE FROM heads WHERE project = ?", (number,))

    def last_of(self, project: int) -> int:
        """The number of the last record in a project's log."""
        query = "SELECT coalesce(max(seq), 0) FROM log WHERE project = ?"
        return int(self._db.execute(query, (project,)).fetchone()[0])

    def truncate(self) -> bool:
        """Empty the log of writes, which may hold what was deleted; true if somebody reads it."""
        self._db.execute("PRAGMA busy_timeout=20")  # not longer, for labels wait
        try:
            return bool(self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        except sqlite3.Error as error:
            raise StoreError(str(error)) from None
        finally:
            self._db.execute("PRAGMA busy_timeout=5000")

    def _write_settings(self, db: sqlite3.Connection, project: int, settings: bytes) -> None:
        db.execute("UPDATE projects SET settings = ? WHERE id = ?", (settings, project))
        self._sign_project(db, project)

    @staticmethod
    def _sign_project(db: sqlite3.Connection, project: int) -> None:
        """Write the checksum of a project's record anew."""
        query = f"SELECT {PROJECT} FROM projects WHERE id = ?"
        record = db.execute(query, (project,)).fetchone()
        given = checksum(*record), project
        db.execute("UPDATE projects SET checksum = ? WHERE id = ?", given)

    def save_in_slices(self, snapshot: Snapshot) -> list[Step]:
        """Return the steps that save a snapshot; it replaces the one before the last.

        Until the last step is done it is not there, and what is there of it is swept away later.
        """
        project, seq, stream = snapshot.project, snapshot.seq, snapshot.stream
        query = "SELECT 1 FROM snapshots WHERE project = ? AND seq = ?"
        if self._db.execute(query, (project, seq)).fetchone():
            return []  # nothing was written since
        begins = range(0, len(stream), PART)
        return [
            self.sweep,
            *(partial(self._save_part, snapshot, k, at) for k, at in enumerate(begins)),
            partial(self._finish_snapshot, snapshot, len(begins)),
            self.sweep,
        ]

    def _save_part(self, snapshot: Snapshot, part: int, at: int) -> None:
        record = snapshot.project, snapshot.seq, part, snapshot.stream[at : at + PART]
        with self._transaction() as db:
            insert = "INSERT OR REPLACE INTO snapshot_parts VALUES (?, ?, ?, ?, ?)"
            db.execute(insert, (*record, checksum(*record)))

    def _finish_snapshot(self, snapshot: Snapshot, parts: int) -> None:
        project = snapshot.project
        record = project, snapshot.seq, snapshot.at, snapshot.last, parts, snapshot.state
        with self._transaction() as db:
            given = *record, checksum(*record)
            db.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)", given)
            db.execute(
                "DELETE FROM snapshots WHERE project = ? AND seq NOT IN "
                "(SELECT seq FROM snapshots WHERE project = ? ORDER BY seq DESC LIMIT ?)",
                (project, project, KEPT_SNAPSHOTS),
            )

    def sweep(self) -> bool:
        """Remove some of what is to go; false if there is nothing left.

        That is rows of projects that are gone, and parts of snapshots that are not whole.
        """
        live = "SELECT id FROM projects"
        query = f"SELECT project, checksum FROM gone WHERE project NOT IN ({live})"
        for number, signed in self._db.execute(query).fetchall():
            if number not in self._made_anew and signed == checksum(number):
                with self._transaction() as db:
                    _sweep_project(db, number)
                self._heads.pop(number, None)
                return True
        query = (
            "SELECT p.rowid FROM snapshot_parts p WHERE NOT EXISTS "
            "(SELECT 1 FROM snapshots s WHERE s.project = p.project AND s.seq = p.seq) LIMIT 1"
        )
        found = self._db.execute(query).fetchone()
        if found is None:
            return False
        with self._transaction() as db:
            db.execute("DELETE FROM snapshot_parts WHERE rowid = ?", found)
        return True

    def place(self, project: int) -> tuple[int, bytes]:
        """Return the end of a project's log: the number of the last record, and its checksum."""
        return self._counts.seq, self._heads[project].log.last

    def drop_labels(self, project: int, before: float) -> int:
        """Drop a project's log up to a time, as far as all its snapshots have it.

        Returns the number of records dropped.
        """
        with self._transaction() as db:
            self.tools.drop(project, before)
            (upto,) = db.execute(
                "SELECT min(seq) FROM snapshots WHERE project = ?", (project,)
            ).fetchone()
            # A clock that was set back makes times that are out of order: a chain has no holes.
            (kept,) = db.execute(
                "SELECT min(seq) FROM log WHERE project = ? AND at >= ?", (project, before)
            ).fetchone()
            upto = -1 if upto is None else upto if kept is None else min(upto, kept - 1)
            last = db.execute(
                "SELECT checksum FROM log WHERE project = ? AND seq <= ? ORDER BY seq DESC LIMIT 1",
                (project, upto),
            ).fetchone()
            if last is None:
                return 0
            done = db.execute("DELETE FROM log WHERE project = ? AND seq <= ?", (project, upto))
            head = self._head(project)
            head.log = head.log.drop(done.rowcount, last[0])
            db.execute("UPDATE projects SET dropped = 1 WHERE id = ?", (project,))
            self._sign_project(db, project)
        return done.rowcount

    def drop_deleted(self, before: float) -> None:
        """Forget answers that tools had deleted by then."""
        with self._transaction():
            self.tools.drop_deleted(before)

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
            records = [(project, at, alarm) for alarm in alarms]
            rows = [(*record, checksum(*record)) for record in records]
            insert = "INSERT INTO alarms (project, at, alarm, checksum) VALUES (?, ?, ?, ?)"
            db.executemany(insert, rows)

    def add_history(
        self, project: int, at: float, rows: Iterable[tuple[object, ...]], most: int
    ) -> None:
        """Samples of workers' error rates; of a worker with too many every second one goes."""
        records = [(project, worker, at, *map(stored, numbers)) for worker, *numbers in rows]
        given = [(*record, checksum(*record)) for record in records]
        with self._transaction() as db:
            db.executemany("INSERT OR REPLACE INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", given)
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
        """Write all or nothing; chains and counts are those of what is on the disk."""
        counts, heads = self._new = copy(self._counts), {}
        counts.commits += 1
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield self._db
            write_heads(self._db, counts, heads)
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise StoreError(str(error)) from None
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._counts = counts
        self._heads |= heads
        try:
            self._head_file.write(counts.commits)
        except OSError as error:  # the commit is on the disk all the same
            log.error("%s: not written: %s", FILE, error)

    def _head(self, project: int) -> Head:
        """The ends of a project's chains, to be changed by the transaction that is open."""
        heads = self._new[1]
        if project not in heads:
            heads[project] = copy(self._heads[project])
        return heads[project]

    # Reading, by the thread that writes ------------------------------------------------------

    def last_time(self) -> float:
        """The time of the last record in the log, or of a snapshot after it; 0 if there is none."""
        query = (
            "SELECT max(coalesce((SELECT at FROM log ORDER BY seq DESC LIMIT 1), 0.0), "
            "coalesce((SELECT max(at) FROM snapshots), 0.0))"
        )
        (found,) = next(self._rows(query))
        return float(found) if isinstance(found, (int, float)) else 0.0

    def projects(self) -> list[ProjectRow]:
        """All projects; those whose record is damaged say so."""
        rows, found = (
            dict[int, ProjectRow](),
            self._db.execute(f"SELECT {PROJECT}, checksum FROM projects ORDER BY name"),
        )
        for *record, signed in found:
            number, name, settings, created, _ = record
            damage = ""
            if signed != checksum(*record):
                damage = f"its record (projects, row {number}) is damaged"
            elif number not in self._heads:
                damage = f"its counts (heads, row {number}) are damaged"
            rows[number] = ProjectRow(number, str(name), settings, created, damage)
        gone = {number for (number,) in self._db.execute("SELECT project FROM gone")}
        for number in self._heads.keys() - rows.keys() - gone:
            damage = f"its record (projects, row {number}) is gone"
            rows[number] = ProjectRow(number, f"project-{number}", b"", 0.0, damage)
        return list(rows.values())

    def snapshots(self, project: int) -> Iterator[Snapshot | DamageError]:
        """A project's snapshots, the latest first; an error for one that is damaged."""
        query = f"SELECT {SNAPSHOT}, checksum FROM snapshots WHERE project = ? ORDER BY seq DESC"
        for *record, signed in self._rows(query, project):
            number, seq, at, last, parts, state = record
            stream = self._snapshot_parts(number, seq)
            if signed == checksum(*record) and len(stream) == parts and None not in stream:
                yield Snapshot(seq, b"".join(filter(None, stream)), state, last, number, at)
            else:
                yield DamageError(f"its snapshot {seq} (snapshots) is damaged")

    def _snapshot_parts(self, project: int, seq: int) -> list[bytes | None]:
        """The parts of a snapshot's stream, in order; ``None`` for one that is damaged."""
        query = "SELECT part, data, checksum FROM snapshot_parts WHERE project = ? AND seq = ?"
        found = self._rows(f"{query} ORDER BY part", project, seq)
        return [
            data if signed == checksum(project, seq, part, data) and part == number else None
            for number, (part, data, signed) in enumerate(found)
        ]

    def dropped(self, project: int) -> bool:
        """Whether part of the log was dropped, so that it cannot be replayed from its start."""
        query = "SELECT dropped FROM projects WHERE id = ?"
        return bool(self._db.execute(query, (project,)).fetchone()[0])

    def events(self, project: int, snapshot: Snapshot | None) -> Iterator[bytes]:
        """The project's log after a snapshot, or from its start, in order.

        Raises DamageError at a record that is damaged, and where one is missing.
        """
        chain = self._heads[project].log
        after, last = (0, chain.base) if snapshot is None else (snapshot.seq, snapshot.last)
        query = (
            "SELECT seq, at, checksum, events FROM log WHERE project = ? AND seq > ? ORDER BY seq"
        )
        for seq, at, signed, events in self._rows(query, project, after):
            if signed != checksum(last, project, seq, at, events):
                raise DamageError(f"its log is damaged at row {seq}")
            last = signed
            yield events
        if last != chain.last:
            raise DamageError("the end of its log is gone")

    def closed_names(self, project: int) -> Iterator[tuple[int, list[str]]]:
        """The names of closed tasks by the row that has them.

        Raises DamageError at a record that is damaged, and where one is missing.
        """
        chain = self._heads[project].closed
        last = chain.base
        columns = "id, at, seq, checksum, contents, names"
        query = f"SELECT {columns} FROM closed WHERE project = ? ORDER BY id"
        decode = msgspec.msgpack.Decoder(list[str]).decode
        for row, at, seq, signed, contents, names in self._rows(query, project):
            if signed != checksum(last, project, row, at, seq, names, contents):
                raise DamageError(f"its closed tasks are damaged at row {row} (closed)")
            last = signed
            yield row, decode(names)
        if last != chain.last:
            raise DamageError("the last of its closed tasks are gone")

    def closed_tasks(self, row: int, offsets: Iterable[int]) -> list[ClosedTask]:
        """Some of the closed tasks of a row."""
        if row not in self._raw_rows:
            query = "SELECT id, contents, decisions FROM closed WHERE id = ?"
            found = next(self._rows(query, row), None)
            while len(self._raw_rows) >= ROWS_AT_HAND:
                del self._raw_rows[next(iter(self._raw_rows))]
            self._raw_rows[row] = [] if found is None else _raw.decode(_intact(*found))
        raw = self._raw_rows[row]
        return [_one_closed.decode(raw[offset]) for offset in offsets if offset < len(raw)]

    def answers(self, after: float) -> Iterator[bytes]:
        """Answers kept for requests that come twice, the oldest first."""
        query = "SELECT at, answers, checksum FROM answers WHERE at >= ? ORDER BY id"
        for at, answers, signed in self._rows(query, after):
            if signed == checksum(at, answers):
                yield answers
            else:
                log.error("answers kept for requests that come twice are damaged; left aside")

    def alarms(self, project: int, most: int) -> list[bytes]:
        """The latest alarms, the oldest of them first."""
        query = (
            "SELECT id, at, alarm, checksum FROM alarms WHERE project = ? ORDER BY id DESC LIMIT ?"
        )
        found = []
        for row, at, alarm, signed in self._rows(query, project, most):
            if signed == checksum(project, at, alarm):
                found.append(alarm)
            else:
                log.error("alarm %d of project %d is damaged; left aside", row, project)
        return found[::-1]

    def _rows(self, query: str, *given: object) -> Iterator[tuple[Any, ...]]:
        """Rows of a query; what SQLite finds damaged is a DamageError."""
        try:
            yield from self._db.execute(query, given)
        except sqlite3.DatabaseError as error:
            raise DamageError(f"the database is damaged: {error}") from None

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
        self.db = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
        self.db.text_factory = _text
        self.db.execute("PRAGMA query_only=1")
        self.tools = ToolTable(self.db)

    def close(self) -> None:
        """Close the files."""
        self.db.close()

    def commits(self) -> int:
        """Return the number of commits; 0 in a folder without tables."""
        try:
            if not self.db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return 0
            check_tables(self.db)
            return read_heads(self.db)[0].commits
        except sqlite3.Error as error:
            raise DamageError(f"{DATABASE}: {error}") from None

    def closed(
        self, project: int, before: tuple[int, int] | None = None, *, newest_first: bool = True
    ) -> Iterator[tuple[int, int, ClosedTask]]:
        """Closed tasks with their row and offset, from a place on."""
        columns = "SELECT id, contents, decisions FROM closed WHERE project = ? AND id"
        if newest_first:
            row, offset = before or (2**62, 0)
            query = f"{columns} <= ? ORDER BY id DESC"
        else:
            row, offset = before or (0, 0)
            query = f"{columns} >= ? ORDER BY id"
        for found, contents, data in self.db.execute(query, (project, row)):
            tasks = list(enumerate(_closed.decode(_intact(found, contents, data))))
            for number, task in reversed(tasks) if newest_first else tasks:
                if newest_first and found == row and number >= offset:
                    continue
                yield found, number, task

    def closed_until(self, project: int, upto: int) -> Iterator[tuple[int, list[ClosedTask]]]:
        """Closed tasks by the part of the log that closed them, up to one, in order."""
        query = (
            "SELECT seq, id, contents, decisions FROM closed WHERE project = ? AND seq <= ? "
            "ORDER BY id"
        )
        rows = self.db.execute(query, (project, upto))
        return ((seq, _closed.decode(_intact(*found))) for seq, *found in rows)

    def log_after(self, project: int, after: int) -> Iterator[tuple[int, bytes]]:
        """The project's log with the number of each part, after one, in order."""
        query = "SELECT seq, events FROM log WHERE project = ? AND seq > ? ORDER BY seq"
        return iter(self.db.execute(query, (project, after)))

    def log_until(self, project: int, upto: int) -> Iterator[tuple[int, bytes]]:
        """The project's log with the number of each part, up to one, in order."""
        query = "SELECT seq, events FROM log WHERE project = ? AND seq <= ? ORDER BY seq"
        return iter(self.db.execute(query, (project, upto)))

    def log_of(self, project: int, needle: bytes) -> Iterator[bytes]:
        """The parts of the log that mention something, the oldest first."""
        query = "SELECT events FROM log WHERE project = ? AND instr(events, ?) ORDER BY seq"
        return (events for (events,) in self.db.execute(query, (project, needle)))

    def latest_log_of(self, project: int, needle: bytes, most: int) -> Iterator[bytes]:
        """The same among the latest ``most`` parts, the newest first."""
        query = (
            "SELECT events FROM (SELECT events, seq FROM log WHERE project = ? ORDER BY seq DESC "
            "LIMIT ?) WHERE instr(events, ?) ORDER BY seq DESC"
        )
        return (events for (events,) in self.db.execute(query, (project, most, needle)))

    def history(self, project: int, worker: str) -> list[tuple[float, ...]]:
        """A worker's samples: at, answers, error rate and its limits."""
        query = (
            "SELECT at, answers, error_rate, error_low, error_high FROM history "
            "WHERE project = ? AND worker = ? ORDER BY at"
        )
        return self.db.execute(query, (project, worker)).fetchall()


_closed = msgspec.msgpack.Decoder(list[ClosedTask])
_one_closed = msgspec.msgpack.Decoder(ClosedTask)
_raw = msgspec.msgpack.Decoder(list[msgspec.Raw])


def closed_records(
    project: int, at: float, seq: int, closed: list[ClosedTask]
) -> Iterator[dict[str, Any]]:
    """Closed tasks as the table has them, but for the number of the row and its checksum."""
    for first in range(0, len(closed), MOST_CLOSED):
        part = closed[first : first + MOST_CLOSED]
        decisions = msgspec.msgpack.encode(part)
        yield {
            "project": project,
            "at": at,
            "seq": seq,
            "names": msgspec.msgpack.encode([one.decision.task for one in part]),
            "decisions": decisions,
            "contents": checksum(decisions),
        }


def _text(data: bytes) -> str:
    """Text that damage has made unreadable is still read: its checksum tells."""
    return data.decode("utf-8", "replace")


def _intact(row: int, contents: bytes, decisions: bytes) -> bytes:
    """Return the decisions of a row; raise DamageError if they are not what was written."""
    if contents != checksum(decisions):
        raise DamageError(f"decisions on closed tasks are damaged at row {row} (closed)")
    return decisions


def read_heads(db: sqlite3.Connection) -> tuple[Counts, dict[int, Head]]:
    """The folder's counts and the ends of chains by project, without those that are damaged."""
    counts: Counts | None = Counts()
    heads: dict[int, Head] = {}
    for project, head, signed in db.execute("SELECT project, head, checksum FROM heads"):
        good = signed == checksum(project, head)
        if project == FOLDER:
            counts = msgspec.msgpack.decode(head, type=Counts) if good else None
        elif good:
            heads[project] = msgspec.msgpack.decode(head, type=Head)
    if counts is None or (heads and not counts.projects):
        raise DamageError(f"{DATABASE}: its counts (heads, row {FOLDER}) are damaged")
    return counts, heads


SWEPT = (
    ("snapshots", "seq", 10), ("log", "seq", 200), ("closed", "id", 20), ("alarms", "id", 500),
    ("history", "worker", 20), ("tool_answers", "tool, id", 500), ("hook_secrets", "tool", 10),
    ("heads", "project", 1), ("gone", "project", 1),
)  # fmt: skip
"""Tables, what their rows are found by, and how many of a project's are removed at once."""

SWEPT_BYTES = 1 << 20
"""Bytes of a log that are removed at once."""


def _sweep_project(db: sqlite3.Connection, number: int) -> None:
    """Remove some rows of a project that is gone; at last, that it is."""
    for table, key, most in SWEPT:
        size = "length(events)" if table == "log" else "0"
        query = f"SELECT {key}, {size} FROM {table} WHERE project = ? ORDER BY {key} DESC LIMIT ?"
        found, weight = list[tuple[object, ...]](), 0
        for *names, length in db.execute(query, (number, most)).fetchall():
            weight += length
            if found and weight > SWEPT_BYTES:
                break
            found.append((number, *names))
        if found:
            where = " AND ".join(f"{name} = ?" for name in key.split(", "))
            db.executemany(f"DELETE FROM {table} WHERE project = ? AND {where}", found)
            return


def write_heads(db: sqlite3.Connection, counts: Counts, heads: dict[int, Head]) -> None:
    """Write the folder's counts and the ends of projects' chains."""
    packed = {FOLDER: msgspec.msgpack.encode(counts)}
    packed |= {project: msgspec.msgpack.encode(head) for project, head in heads.items()}
    rows = [(project, head, checksum(project, head)) for project, head in packed.items()]
    db.executemany("INSERT OR REPLACE INTO heads VALUES (?, ?, ?)", rows)


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


def take_lock(folder: Path) -> FileLock:
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
