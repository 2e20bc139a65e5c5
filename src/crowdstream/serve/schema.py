"""The tables of a server's database: their SQL, their version, whether they are as they should be.

Every record has a checksum over all its other columns; those of ``log`` and ``closed`` are chains,
whose ends are in ``heads``. ``heads`` of project 0 are the folder's counts. ``gone`` are numbers of
projects whose rows are to be swept away.
"""

from __future__ import annotations

import contextlib
import sqlite3

from crowdstream.errors import CrowdstreamError
from crowdstream.serve import tool_table

SCHEMA = 5
"""Version of the tables. Folders of other versions are refused."""

TABLES = (
    """
CREATE TABLE heads (project INTEGER PRIMARY KEY, head BLOB NOT NULL, checksum BLOB NOT NULL);
CREATE TABLE projects (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, settings BLOB NOT NULL,
    created REAL NOT NULL, dropped INTEGER NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE gone (project INTEGER PRIMARY KEY, checksum BLOB NOT NULL);
CREATE TABLE probe (id INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE log (
    seq INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, checksum BLOB NOT NULL,
    events BLOB NOT NULL
);
CREATE INDEX log_of_project ON log (project, seq);
CREATE TABLE closed (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, seq INTEGER NOT NULL,
    checksum BLOB NOT NULL, contents BLOB NOT NULL, names BLOB NOT NULL, decisions BLOB NOT NULL
);
CREATE INDEX closed_of_project ON closed (project, id);
CREATE TABLE snapshots (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, at REAL NOT NULL, last BLOB NOT NULL,
    parts INTEGER NOT NULL, state BLOB NOT NULL, checksum BLOB NOT NULL, PRIMARY KEY (project, seq)
);
CREATE TABLE snapshot_parts (
    project INTEGER NOT NULL, seq INTEGER NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
    checksum BLOB NOT NULL, PRIMARY KEY (project, seq, part)
);
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, answers BLOB NOT NULL, checksum BLOB NOT NULL
);
CREATE TABLE alarms (
    id INTEGER PRIMARY KEY, project INTEGER NOT NULL, at REAL NOT NULL, alarm BLOB NOT NULL,
    checksum BLOB NOT NULL
);
CREATE TABLE history (
    project INTEGER NOT NULL, worker TEXT NOT NULL, at REAL NOT NULL, answers REAL NOT NULL,
    error_rate REAL, error_low REAL, error_high REAL, checksum BLOB NOT NULL,
    PRIMARY KEY (project, worker, at)
) WITHOUT ROWID;
"""
    + tool_table.TABLES
)


class StoreError(CrowdstreamError):
    """The folder cannot be written (or read); nothing of the change is in it."""


class DamageError(StoreError):
    """Error of records that are not what was written."""


def make_tables(db: sqlite3.Connection) -> None:
    """Create the tables in a new database, at once; refuse one of another version."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found == 0 and not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        try:
            db.executescript(f"BEGIN IMMEDIATE;\n{TABLES}PRAGMA user_version={SCHEMA};\nCOMMIT;")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                db.execute("ROLLBACK")
            raise StoreError(f"the tables cannot be made: {error}") from None
    check_tables(db)


def check_tables(db: sqlite3.Connection) -> None:
    """Raise StoreError unless the tables are those of this version, to the letter."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found != SCHEMA:
        other = "a later" if found > SCHEMA else "an earlier"
        raise StoreError(
            f"the database was made by {other} version of crowdstream (schema {found}; this one "
            f"reads only {SCHEMA}), or is damaged"
        )
    fresh = sqlite3.connect(":memory:")
    fresh.executescript(TABLES)
    if _definitions(db) != _definitions(fresh):
        raise DamageError("the definitions of the database's tables are damaged")


def _definitions(db: sqlite3.Connection) -> set[tuple[object, ...]]:
    # SQLite itself makes tables such as sqlite_stat1 where somebody has run ANALYZE.
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name NOT LIKE 'sqlite_%'"
    return set(db.execute(query))
