"""Make a damaged folder whole: what is intact, or in a backup, goes into a new database.

What was there is copied aside first, and every loss is told. Of a project's log all that comes
after the damage goes, unless a snapshot has what the damaged part said: state and log never differ.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from crowdstream.errors import CrowdstreamError
from crowdstream.serve import log_events
from crowdstream.serve.checking import TABLES, Table, check_files
from crowdstream.serve.checksums import Chain, Counts, Head, checksum
from crowdstream.serve.head_file import FILE as HEAD_FILE
from crowdstream.serve.head_file import HeadFile, read_head
from crowdstream.serve.project import Project
from crowdstream.serve.schema import StoreError, make_tables
from crowdstream.serve.store import (
    DATABASE,
    Reader,
    closed_records,
    read_heads,
    take_lock,
    write_heads,
)
from crowdstream.serve.wire import Settings

Row = dict[str, Any]
"""A row by its columns, without the checksum."""

PLAIN = tuple(table for table in TABLES if table.name in ("answers", "alarms", "history",
              "tool_answers", "hook_secrets"))  # fmt: skip
"""Tables whose rows stand by themselves."""

EXTRA = {"closed": ("decisions",), "answers": ("id",), "alarms": ("id",)}
"""Columns that checksums cover by way of another, or that only say in which order rows are."""


class Found(NamedTuple):
    """A row and its checksum."""

    row: Row
    signed: bytes


def repair(folder: Path, backup: Path | None = None) -> list[str]:
    """Repair a folder whose server is stopped; return what was done and what is lost."""
    return list(_repair(folder, backup))


def _repair(folder: Path, backup: Path | None) -> Iterator[str]:
    if not (folder / DATABASE).is_file():
        raise StoreError(f"{folder}: expected a server's data folder, found no {DATABASE}")
    with closing(take_lock(folder)), contextlib.ExitStack() as held:
        aside = folder / time.strftime("damaged-%Y%m%d-%H%M%S")
        aside.mkdir(mode=0o700)
        for file in folder.iterdir():
            if file.is_file() and not file.name.endswith("lock"):
                shutil.copy2(file, aside / file.name)
        yield f"what was there is in {aside}"
        places = [place for place in (aside, backup) if place is not None]
        sources = [held.enter_context(closing(SavedRows(place))) for place in places]
        made = _Made(folder / f"{DATABASE}.new", sources)
        yield from made.fill()
        if not made.projects and any(source.names for source in sources):
            yield "no project could be read: give a --backup"
        yield from _repair_files(folder, backup)
        yield from _put_in_place(folder, made)


def _put_in_place(folder: Path, made: _Made) -> Iterator[str]:
    known = read_head(folder)
    if known is None:
        yield f"{HEAD_FILE} was damaged: whether the last commits are there is unknown"
    elif known > made.found.commits:
        yield f"the last {known - made.found.commits} commits are gone"
    made.path.replace(folder / DATABASE)
    for end in ("-wal", "-shm"):
        (folder / f"{DATABASE}{end}").unlink(missing_ok=True)
    with closing(HeadFile(folder)) as head:
        head.write(made.counts.commits)


def _repair_files(folder: Path, backup: Path | None) -> Iterator[str]:
    """Files that are damaged come from the backup, or go: tokens and keys can be made anew."""
    for damage in check_files(folder):
        path = folder / damage.where
        path.unlink()
        good = backup is not None and (backup / damage.where).is_file()
        if good and backup is not None:
            shutil.copy2(backup / damage.where, path)
        yield f"{damage.where}: {damage.what}; " + ("from the backup" if good else "removed")


class SavedRows:
    """The rows of a database, as far as they can be read."""

    def __init__(self, folder: Path) -> None:
        self.reader = Reader(folder)
        self.heads: dict[int, Head] = {}
        self.counts = Counts()
        with contextlib.suppress(sqlite3.Error, CrowdstreamError):
            self.counts, self.heads = read_heads(self.reader.db)
            for number, signed in self.reader.db.execute("SELECT project, checksum FROM gone"):
                if signed == checksum(number):
                    self.heads.pop(number, None)
        self.tables = {table.name: self._read(table) for table in TABLES}
        self.snapshot_parts: dict[tuple[Any, ...], dict[tuple[Any, ...], Found]] = {}
        for key, found in self.good("snapshot_parts"):
            self.snapshot_parts.setdefault(key[:2], {})[key] = found
        self.names = {number: found.row["name"] for (number,), found in self.good("projects")}

    def close(self) -> None:
        """Close the files."""
        self.reader.close()

    def _read(self, table: Table) -> dict[tuple[Any, ...], Found]:
        """Rows by their keys: from the first up to what cannot be read, and from the last down."""
        columns = (*table.covered, *EXTRA.get(table.name, ()))
        rows: dict[tuple[Any, ...], Found] = {}
        for order in ("", " DESC"):
            keys = ", ".join(f"{key}{order}" for key in table.keys)
            query = f"SELECT {', '.join(columns)}, checksum FROM {table.name} ORDER BY {keys}"
            try:
                for *cells, signed in self.reader.db.execute(query):
                    row = dict(zip(columns, cells, strict=True))
                    rows.setdefault(tuple(row[key] for key in table.keys), Found(row, signed))
                break
            except sqlite3.DatabaseError:
                continue
        return rows

    def good(self, name: str) -> Iterator[tuple[tuple[Any, ...], Found]]:
        """Rows of a table without chains whose checksums match."""
        (table,) = (table for table in TABLES if table.name == name)
        for key, found in self.tables[name].items():
            if found.signed == checksum(*(found.row[column] for column in table.covered)):
                yield key, found

    def follows(self, table: str, key: int, last: bytes) -> Found | None:
        """The row of a chain, if it follows a record with this checksum."""
        found = self.tables[table].get((key,))
        return found if found is not None and _follows(table, found, last) else None


def _follows(table: str, found: Found, last: bytes) -> bool:
    (kind,) = (one for one in TABLES if one.name == table)
    row = found.row
    if table == "closed" and row["contents"] != checksum(row["decisions"]):
        return False
    return found.signed == checksum(last, *(row[column] for column in kind.covered))


class _Made:
    """The new database."""

    def __init__(self, path: Path, sources: list[SavedRows]) -> None:
        self.path, self.sources = path, sources
        self.found = sources[0].counts
        counts = [source.counts for source in sources]
        self.counts = Counts(
            *(max(numbers) for numbers in zip(*map(_numbers, counts), strict=True))
        )
        self.projects: dict[int, Head] = {}
        path.unlink(missing_ok=True)
        self.db = sqlite3.connect(path, isolation_level=None)
        path.chmod(0o600)
        make_tables(self.db)

    def fill(self) -> Iterator[str]:
        """Write all that is intact."""
        self.db.execute("BEGIN")
        every = {number for source in self.sources for number in (*source.names, *source.heads)}
        for number in sorted(every):
            yield from self._project(number)
        for table in PLAIN:
            yield from self._plain(table)
        self.counts.commits += 1
        write_heads(self.db, self.counts, self.projects)
        self.db.execute("COMMIT")
        self.db.close()

    def _insert(self, table: str, row: Row, signed: bytes) -> None:
        cells = row | {"checksum": signed}
        marks = ", ".join("?" * len(cells))
        query = f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({marks})"
        self.db.execute(query, tuple(cells.values()))

    def _plain(self, table: Table) -> Iterator[str]:
        rows: dict[tuple[Any, ...], Found] = {}
        for source in self.sources:
            rows = dict(source.good(table.name)) | rows
        own = self.sources[0].tables[table.name]
        for found in rows.values():
            if found.row.get("project", 0) in (0, *self.projects):
                self._insert(table.name, found.row, found.signed)
        bad = own.keys() - dict(self.sources[0].good(table.name)).keys()
        if bad:
            healed = len(bad & rows.keys())
            yield f"{table.name}: {len(bad)} rows were damaged, {healed} are from the backup"

    # A project -------------------------------------------------------------------------------

    def _project(self, number: int) -> Iterator[str]:
        row = next((dict(source.good("projects")).get((number,)) for source in self.sources
                    if (number,) in dict(source.good("projects"))), None)  # fmt: skip
        if row is None:
            yield f"project number {number}: its record is damaged; it is set aside whole"
            return
        name = row.row["name"]
        log, whole, said = self._log(number, dropped=bool(row.row["dropped"]))
        end = None if whole else log[-1].row["seq"] if log else 0
        snapshots = self._snapshots(number, end)
        closed, lost = self._closed(number, end)
        head = Head()
        if said is not None:  # the log begins after a snapshot
            row.row["dropped"] = 1
            head.log = Chain(0, said, said)
            yield f"project {name}: labels before the damage are set aside; a snapshot sums them up"
        elif row.row["dropped"]:
            base = self._base(number)
            head.log = Chain(0, base, base)
        if not whole:
            yield f"project {name}: what came after row {end or 0} of its log is set aside"
        if row.row["dropped"] and not snapshots:
            yield f"project {name}: no snapshot of it is intact; it is set aside whole"
            return
        if lost and not row.row["dropped"]:
            closed = _replayed(row.row, log)
            yield f"project {name}: decisions on closed tasks are made anew from its log"
        elif lost:
            yield f"project {name}: {lost} rows of decisions on closed tasks are set aside"
        self._write(number, row.row, log, closed, snapshots, head)

    def _write(
        self, number: int, row: Row, log: list[Found], closed: list[Row], snapshots: list[Found],
        head: Head,
    ) -> None:  # fmt: skip
        covered = TABLES[0].covered
        self._insert("projects", row, checksum(*(row[column] for column in covered)))
        for found in log:
            values = (found.row[column] for column in TABLES[1].covered)
            head.log = head.log.add(*values)
            self._insert("log", found.row, head.log.last)
        for one in closed:
            if "id" not in one:
                self.counts.closed += 1
                one["id"] = self.counts.closed
            head.closed = head.closed.add(*(one[column] for column in TABLES[2].covered))
            self._insert("closed", one, head.closed.last)
        for found in snapshots:
            self._insert("snapshots", found.row, found.signed)
            for part in self._parts(found.row):
                self._insert("snapshot_parts", part.row, part.signed)
        self.projects[number] = head

    def _base(self, number: int) -> bytes:
        return next((s.heads[number].log.base for s in self.sources if number in s.heads), b"")

    def _keys(self, table: str, number: int) -> list[int]:
        keys = {
            key
            for source in self.sources
            for (key,), found in source.tables[table].items()
            if found.row["project"] == number
        }
        return sorted(key for key in keys if isinstance(key, int))

    def _walk(self, number: int, last: bytes, after: int) -> tuple[list[Found], bool]:
        """The log after a row while each record follows the one before, and whether that is all."""
        found: list[Found] = []
        for key in self._keys("log", number):
            if key <= after:
                continue
            one = next(filter(None, (s.follows("log", key, last) for s in self.sources)), None)
            if one is None:
                return found, False
            found.append(one)
            last = one.signed
        own = self.sources[0].heads.get(number)
        return found, own is None or own.log.last == last

    def _log(self, number: int, *, dropped: bool) -> tuple[list[Found], bool, bytes | None]:
        """The log, whether it is whole, and after which record it begins if part was set aside."""
        log, whole = self._walk(number, self._base(number) if dropped else b"", 0)
        if whole:
            return log, True, None
        for snapshot in reversed(self._snapshots(number, None)):
            last = snapshot.row["last"]
            rest, good = self._walk(number, last, snapshot.row["seq"])
            if good:
                return rest, True, last
        return log, False, None

    def _snapshots(self, number: int, end: int | None) -> list[Found]:
        rows: dict[tuple[Any, ...], Found] = {}
        for source in self.sources:
            rows = dict(source.good("snapshots")) | rows
        every = [one for _, one in sorted(rows.items()) if one.row["project"] == number]
        whole = [one for one in every if len(self._parts(one.row)) == one.row["parts"]]
        return [one for one in whole if end is None or one.row["seq"] <= end][-2:]

    def _parts(self, snapshot: Row) -> list[Found]:
        """The parts of a snapshot that are intact, in order."""
        rows: dict[tuple[Any, ...], Found] = {}
        for source in self.sources:
            rows = source.snapshot_parts.get((snapshot["project"], snapshot["seq"]), {}) | rows
        return [rows[key] for key in sorted(rows)]

    def _closed(self, number: int, end: int | None) -> tuple[list[Row], int]:
        """Rows of closed tasks that are intact, up to a row of the log, and how many are not."""
        kept, lost, records, last = list[Row](), 0, 0, b""
        for key in self._keys("closed", number):
            one = next(filter(None, (s.follows("closed", key, last) for s in self.sources)), None)
            own = self.sources[0].tables["closed"].get((key,))
            lost += one is None
            records += 1
            last = own.signed if one is None and own is not None else one.signed if one else b""
            if one is not None and (end is None or one.row["seq"] <= end):
                kept.append(dict(one.row))
        head = self.sources[0].heads.get(number)
        if head is not None and end is None:
            lost += max(head.closed.records - records, 0)
        return kept, lost


def _numbers(counts: Counts) -> tuple[int, ...]:
    return tuple(msgspec.structs.astuple(counts))


def _replayed(row: Row, log: list[Found]) -> list[Row]:
    """Decisions on closed tasks, as the log made them: to the bit those that were written."""
    settings = msgspec.msgpack.decode(row["settings"], type=Settings)
    project = Project(row["id"], row["name"], settings, row["created"], lambda *_: [])
    found: list[Row] = []
    for one in log:
        for event in log_events.unpack(one.row["events"]):
            project._apply(event)
        found += closed_records(
            row["id"], one.row["at"], one.row["seq"], list(project.closed.values())
        )
        project.closed.clear()
    return found
