"""Look for damage in a folder: `check` reads all of it at once, `Scrub` a little at a time.

Changes nothing. Knows the tables and their checksums, not what they mean.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from crowdstream.errors import CrowdstreamError
from crowdstream.serve import access, tokens
from crowdstream.serve.checksums import Chain, checksum
from crowdstream.serve.head_file import FILE as HEAD_FILE
from crowdstream.serve.head_file import read_head
from crowdstream.serve.schema import StoreError, check_tables
from crowdstream.serve.store import DATABASE, FOLDER, Reader, read_heads


class Damage(NamedTuple):
    """Damage found: its place (a file, or a table and its row), and its project if it is of one."""

    where: str
    what: str
    project: int | None = None
    name: str = ""
    vital: bool = True
    """True if decisions depend on it."""

    def __str__(self) -> str:
        whose = f"project {self.name}: " if self.name else ""
        return f"{whose}{self.where}: {self.what}"


class Table(NamedTuple):
    """A table: what its rows are found by, and what their checksums cover."""

    name: str
    keys: tuple[str, ...]
    covered: tuple[str, ...]
    chain: bool = False
    slice: int = 200
    """Rows that are read at a time."""


TABLES = (
    Table("projects", ("id",), ("id", "name", "settings", "created", "dropped")),
    Table("log", ("seq",), ("project", "seq", "at", "events"), chain=True),
    Table("closed", ("id",), ("project", "id", "at", "seq", "names", "contents"), chain=True),
    Table("snapshots", ("project", "seq"), ("project", "seq", "at", "last", "parts", "state"),
          slice=1),
    Table("snapshot_parts", ("project", "seq", "part"), ("project", "seq", "part", "data"),
          slice=1),
    Table("answers", ("id",), ("at", "answers")),
    Table("alarms", ("id",), ("project", "at", "alarm")),
    Table("history", ("project", "worker", "at"),
          ("project", "worker", "at", "answers", "error_rate", "error_low", "error_high")),
    Table("tool_answers", ("project", "tool", "id"),
          ("project", "tool", "id", "task", "worker", "label", "question", "at", "gold", "deleted",
           "noted")),
    Table("hook_secrets", ("project", "tool"), ("project", "tool", "secret")),
)  # fmt: skip
"""Every table whose rows have checksums; `heads` is looked at by itself, `probe` has nothing."""


def check(folder: Path) -> Iterator[Damage]:
    """Look at every file of a folder, also while its server runs."""
    if not (folder / DATABASE).is_file():
        raise StoreError(f"{folder}: expected a server's data folder, found no {DATABASE}")
    yield from check_files(folder)
    known = read_head(folder)
    if known is None:
        yield Damage(HEAD_FILE, "its checksum does not match")
    with closing(Reader(folder)) as reader:
        try:
            reader.db.execute("BEGIN")
            check_tables(reader.db)
        except (sqlite3.Error, StoreError) as error:
            yield Damage(DATABASE, str(error))
            return
        found = Examination(reader)
        yield from found.records(lambda size: None)
        if found.commits is not None and known is not None and found.commits < known:
            yield Damage(f"{DATABASE}-wal", f"the last {known - found.commits} commits are gone")
        yield from found.structure()


def check_files(folder: Path) -> Iterator[Damage]:
    """Look at the files beside the database."""
    for name, look in ((tokens.FILE, tokens.check_tokens), (tokens.ADMIN_FILE, tokens.check_admin),
                       (access.KEY_FILE, access.check_key)):  # fmt: skip
        try:
            look(folder)
        except CrowdstreamError as error:
            yield Damage(name, str(error).removeprefix(f"{folder / name}: "))


VITAL = ("heads", "projects", "log", "closed")
"""Tables that decisions are made of; a running server can do without its snapshots."""


class Examination:
    """One look at all records of a database."""

    def __init__(self, reader: Reader) -> None:
        self.db = reader.db
        self.commits: int | None = None
        self._names: dict[object, str] = {}
        self._last: dict[tuple[str, object], bytes] = {}

    def records(self, pause: Callable[[int], object]) -> Iterator[Damage]:
        """Look at every record; ``pause`` is told after each slice how many bytes it had."""
        yield from self._read_heads()
        for table in TABLES:
            try:
                for rows in self._slices(table):
                    for row in rows:
                        yield from self._record(table, row)
                    pause(sum(len(cell) for row in rows for cell in row if isinstance(cell, bytes)))
            except sqlite3.DatabaseError as error:
                yield Damage(f"{DATABASE}, table {table.name}", str(error))
        yield from self._ends()

    def _read_heads(self) -> Iterator[Damage]:
        try:
            self._names = dict(self.db.execute("SELECT id, name FROM projects"))
            for project, head, signed in self.db.execute("SELECT * FROM heads"):
                if signed != checksum(project, head):
                    yield self._damage("heads", (project,), "its checksum does not match", project)
            counts, heads = read_heads(self.db)
        except (sqlite3.DatabaseError, StoreError) as error:
            yield Damage(DATABASE, str(error))
            return
        self.commits = counts.commits
        for project in (self._names.keys() ^ heads.keys()) - self._gone():
            where = "heads" if project in self._names else "projects"
            yield self._damage(where, (project,), "is gone", project)

    def _gone(self) -> set[object]:
        """Projects that were deleted and whose rows are being swept away, the last ones first."""
        found = self.db.execute("SELECT project, checksum FROM gone").fetchall()
        return {number for number, signed in found if signed == checksum(number)}

    def _slices(self, table: Table) -> Iterator[list[tuple[Any, ...]]]:
        """All rows, a slice at a time: keys first, then the checksum, then what it covers."""
        keys = ", ".join(table.keys)
        columns = ", ".join((*table.keys, "checksum", *table.covered))
        if table.name == "closed":
            columns += ", decisions"
        marks = ", ".join("?" * len(table.keys))
        after: tuple[Any, ...] = ()
        while True:
            where = f"WHERE ({keys}) > ({marks})" if after else ""
            query = (
                f"SELECT {columns} FROM {table.name} {where} ORDER BY {keys} LIMIT {table.slice}"
            )
            rows = self.db.execute(query, after).fetchall()
            if not rows:
                return
            yield rows
            before, after = after, rows[-1][: len(table.keys)]
            if after == before:
                raise sqlite3.DatabaseError("its rows are out of order")

    def _record(self, table: Table, row: tuple[Any, ...]) -> Iterator[Damage]:
        size = len(table.keys)
        key, signed, values = row[:size], row[size], row[size + 1 :]
        named = dict(zip(table.covered, values, strict=False))
        project = named.get("project", named["id"] if table.name == "projects" else None)
        if table.name == "closed" and checksum(values[-1]) != named["contents"]:
            yield self._damage(table.name, key, "the checksum of decisions does not match", project)
        covered = values[: len(table.covered)]
        if table.chain:
            good = self._follows(table, key[0], project, signed, covered)
            self._last[table.name, project] = signed
        else:
            good = signed == checksum(*covered)
        if not good and project not in self._gone():
            yield self._damage(table.name, key, "its checksum does not match", project)
        if table.name == "snapshots" and self._lacks_parts(key):
            yield self._damage(table.name, key, "some of its parts are gone", project)

    def _lacks_parts(self, key: tuple[Any, ...]) -> bool:
        """Return True if a snapshot has fewer parts, or more, than were written."""
        parts = (
            "SELECT count(*) FROM snapshot_parts p WHERE p.project = s.project AND p.seq = s.seq"
        )
        query = f"SELECT parts - ({parts}) FROM snapshots s WHERE project = ? AND seq = ?"
        found = self.db.execute(query, key).fetchone()
        return found is not None and found[0] != 0

    def _follows(
        self, table: Table, row: int, project: object, signed: bytes, covered: tuple[Any, ...]
    ) -> bool:
        """Return True if a record of a chain follows the one before it."""
        last = self._last.get((table.name, project))
        if last is not None and signed == checksum(last, *covered):
            return True
        # The first of its chain, or the ones before it were dropped while we looked elsewhere.
        with _one_moment(self.db):
            key = table.keys[0]
            before = self.db.execute(
                f"SELECT checksum FROM {table.name} WHERE project = ? AND {key} < ? "
                f"ORDER BY {key} DESC LIMIT 1",
                (project, row),
            ).fetchone()
            chain = self._chain(table.name, project)
            there = f"SELECT count(*) FROM {table.name} WHERE {key} = ?"
            if not self.db.execute(there, (row,)).fetchone()[0]:
                return True  # dropped by now
        last = before[0] if before is not None else chain.base if chain is not None else b""
        return signed == checksum(last, *covered)

    def _ends(self) -> Iterator[Damage]:
        """Return True if chains have all their records, and end with the last."""
        for table in TABLES:
            for project in self._names if table.chain else ():
                try:
                    yield from self._end(table, project)
                except sqlite3.DatabaseError as error:
                    yield self._damage(table.name, (), str(error), project)

    def _end(self, table: Table, project: object) -> Iterator[Damage]:
        with _one_moment(self.db):
            chain = self._chain(table.name, project)
            if chain is None:
                return
            key = table.keys[0]
            last = self.db.execute(
                f"SELECT checksum FROM {table.name} WHERE project = ? ORDER BY {key} DESC LIMIT 1",
                (project,),
            ).fetchone()
            count = f"SELECT count(*) FROM {table.name} WHERE project = ?"
            (records,) = self.db.execute(count, (project,)).fetchone()
        if records != chain.records:
            what = f"{records:,} records of {chain.records:,} are there"
            yield self._damage(table.name, (), what, project)
        elif (last[0] if last else chain.base) != chain.last:
            yield self._damage(table.name, (), "its last record is another one", project)

    def _chain(self, table: str, project: object) -> Chain | None:
        head = read_heads(self.db)[1].get(project)  # type: ignore[call-overload]
        return None if head is None else head.log if table == "log" else head.closed

    def structure(self) -> Iterator[Damage]:
        """Yield what SQLite finds wrong with its pages and indexes."""
        try:
            for (text,) in self.db.execute("PRAGMA integrity_check"):
                if text != "ok":
                    yield Damage(DATABASE, " ".join(str(text).removeprefix("*** ").split()))
        except sqlite3.DatabaseError as error:
            yield Damage(DATABASE, str(error))

    def _damage(
        self, table: str, key: tuple[object, ...], what: str, project: object = None
    ) -> Damage:
        row = f", row {', '.join(map(str, key))}" if key else ""
        where = f"{DATABASE}, table {table}{row}"
        vital = table in VITAL
        if not isinstance(project, int) or project == FOLDER:
            return Damage(where, what, vital=vital)
        return Damage(where, what, project, self._names.get(project, f"number {project}"), vital)


@contextmanager
def _one_moment(db: sqlite3.Connection) -> Iterator[None]:
    """Make all queries inside see one moment, also where no transaction is open."""
    if db.in_transaction:
        yield
        return
    db.execute("BEGIN")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
