"""Tables and states → files, whole or not at all. Knows nothing of what they hold."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from crowdstream.cli.workbooks import check_writer, open_workbook
from crowdstream.errors import InputError, UsageError
from crowdstream.serialization import is_replaced, refuse_output, replacing

if TYPE_CHECKING:
    import polars as pl

SPILL = 1_000_000
"""Rows of a Parquet file that are kept in memory while it is written piece by piece."""

LIST_SEPARATOR = ";"
"""Between the entries of a list, such as a worker's flags, in CSV, TSV and Excel."""

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".xlsx")


def check_output(path: str | None, option: str) -> None:
    """Refuse, before any work, a file that could not be written."""
    if path is None or path == "-":
        return
    if Path(path).suffix.lower() not in SUFFIXES and not _is_device(path):
        raise InputError(option, f"a name that ends in {' '.join(SUFFIXES)}", repr(path))
    if Path(path).suffix.lower() == ".xlsx":
        check_writer(option)
    check_writable(path, option)


def _is_device(path: str) -> bool:
    """Return True for a device or a pipe, whose name need not tell the format."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def check_writable(path: str, option: str) -> None:
    """Refuse, before any work, a folder that is missing or a file that may not be written."""
    if not Path(os.path.realpath(path)).parent.is_dir():
        raise InputError(option, "a folder that exists", repr(str(Path(path).parent)))
    if reason := refuse_output(path):
        raise InputError(option, "a file that can be written", f"{path!r}: {reason}")


def check_apart(inputs: list[str], outputs: dict[str, str | None]) -> None:
    """Refuse to write two things to one file, or over what is read."""
    taken = {os.path.realpath(path): "the labels" for path in inputs if path != "-"}
    for option, path in outputs.items():
        if path is None:
            continue
        place = path if path == "-" else os.path.realpath(path)
        if place in taken:
            raise UsageError(
                f"{option} needs a file of its own; {path!r} is that of {taken[place]}"
            )
        taken[place] = option


def make_folder(path: str) -> Path:
    """The folder of ``--output``, made before the work, which would otherwise be lost."""
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--output", "a folder that can be made", str(error)) from None
    return Path(path)


class TableWriter:
    """Writes a table, in one piece or several, to a file by its extension or to standard output."""

    def __init__(self, path: str | None) -> None:
        self.path = path
        kind = "" if path is None else Path(path).suffix.lower()
        self.kind = kind if kind in SUFFIXES else ".csv"  # standard output, a device, a pipe
        self._first = True

    @contextlib.contextmanager
    def open(self) -> Iterator[Callable[[pl.DataFrame], None]]:
        """A function that writes a piece."""
        if self.path in (None, "-"):
            yield lambda piece: self._write(piece, sys.stdout.buffer)
            sys.stdout.buffer.flush()
            return
        with replacing(str(self.path)) as name:
            if self.kind == ".parquet":
                with _parquet(name) as add:
                    yield self._named(add)
            elif self.kind == ".xlsx":
                with open_workbook(name, str(self.path)) as add:
                    yield self._named(lambda piece: add(_flat(piece)))
            else:
                with open(name, "wb") as file:
                    yield self._named(lambda piece: self._write(piece, file))

    def _named(self, write: Callable[[pl.DataFrame], None]) -> Callable[[pl.DataFrame], None]:
        """Wrap a writer so that its errors (a full disk, say) name the file."""

        def named(piece: pl.DataFrame) -> None:
            try:
                write(piece)
            except BrokenPipeError:
                raise
            except OSError as error:
                reason = error.strerror or str(error)
                raise InputError(str(self.path), "a file that can be written", reason) from None

        return named

    def _write(self, piece: pl.DataFrame, file: IO[bytes]) -> None:
        if self.kind in (".jsonl", ".ndjson"):
            from crowdstream.cli.json_output import write_rows

            write_rows(piece, file)
        else:
            from crowdstream.writers.csv_rows import csv_pieces

            separator = "\t" if self.kind == ".tsv" else ","
            cells = _with_joined_lists(piece)
            if self._first:
                file.write(cells.clear().write_csv(separator=separator).encode())
            for rows in csv_pieces(cells, separator):
                file.write(rows)
        self._first = False


def _flat(piece: pl.DataFrame) -> pl.DataFrame:
    """Return a table for cells: numbers rounded, lists joined."""
    import polars.selectors as cs

    from crowdstream.writers.csv_rows import DIGITS

    return _with_joined_lists(piece).with_columns(cs.float().round(DIGITS))


def _with_joined_lists(piece: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    return piece.with_columns(pl.col(pl.List(pl.String)).list.join(LIST_SEPARATOR))


@contextlib.contextmanager
def _parquet(path: str) -> Iterator[Callable[[pl.DataFrame], None]]:
    """Parquet cannot be appended to: pieces are kept beside the file until the end."""
    import tempfile

    import polars as pl

    beside = Path(path).parent if is_replaced(path) else None
    with tempfile.TemporaryDirectory(prefix=".pieces.", dir=beside) as folder:
        pieces: list[pl.DataFrame] = []
        files: list[Path] = []

        def spill() -> None:
            files.append(Path(folder) / f"{len(files)}.arrow")
            pl.concat(pieces).write_ipc(files[-1])
            pieces.clear()

        def add(piece: pl.DataFrame) -> None:
            pieces.append(piece)
            if sum(each.height for each in pieces) >= SPILL:
                spill()

        yield add
        # Parquet is not written front to back: a pipe or a device gets it when it is whole.
        target = path if beside else str(Path(folder) / "whole.parquet")
        if not files:
            pl.concat(pieces).write_parquet(target)
        else:
            if pieces:
                spill()
            pl.scan_ipc(files).sink_parquet(target)
        if not beside:
            with open(target, "rb") as whole, open(path, "wb") as out:
                shutil.copyfileobj(whole, out)


def write_table(table: pl.DataFrame, path: str | None) -> None:
    """A whole table."""
    with TableWriter(path).open() as write:
        write(table)
