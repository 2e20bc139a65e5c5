"""Paths, globs and standard input → `RawLabels`, whole or in batches.

Knows which format is read where; nothing of what is in a file.
"""

from __future__ import annotations

import contextlib
import glob
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from crowdstream.errors import InputError
from crowdstream.labels.coded_labels import CodedLabels, code_frame
from crowdstream.labels.columns import ROLES, ColumnNames, Roles, count_roles
from crowdstream.labels.meaning.interpreting import RawLabels
from crowdstream.labels.meaning.repeats import telling_columns
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers import columnar, csv_files, jsonl
from crowdstream.labels.readers.bad_rows import BadRows
from crowdstream.labels.readers.header_rows import label_header, refuse_header_options
from crowdstream.labels.readers.input_options import InputOptions
from crowdstream.labels.readers.json_array import ArrayLines
from crowdstream.labels.readers.sniffing import SNIFFED, Dialect, sniff
from crowdstream.labels.readers.sources import (
    Readable,
    Source,
    check_size,
    clear_errors,
    open_bytes,
)
from crowdstream.labels.readers.text_stream import TextStream, decide_whole, decode_head
from crowdstream.labels.readers.tool_files import finish, read_tool
from crowdstream.labels.readers.tools import TOOL_NAMES, Found, find_tool

if TYPE_CHECKING:
    import polars as pl

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".zip": "zip",
    ".eval": "zip",
}

COLUMNAR = ("parquet", "ipc")

BATCH_BYTES = 8 << 20
"""Text is parsed this much at a time when it is not read whole."""


def find_sources(
    patterns: Sequence[str],
    kind: str | None = None,
    options: InputOptions = InputOptions(),  # noqa: B008 a tuple
    *,
    option: str = "",
) -> list[Source]:
    """The files that paths, globs and ``-`` stand for, in order; each must exist.

    Parameters
    ----------
    patterns
        Paths, globs and ``-``.
    kind
        Their format, where their names do not tell, or the tool that wrote them.
    options
        What else is known of them.
    option
        The option that named them, for messages; none for the files of labels.
    """
    if kind in TOOL_NAMES:
        kind, options = None, options._replace(tool=kind)
    elif kind is not None and kind not in FORMATS.values():
        known = " ".join(dict.fromkeys([*FORMATS.values(), *TOOL_NAMES]))
        raise InputError("--format", known, repr(kind))
    found: list[Source] = []
    for pattern in patterns:
        if pattern == "-":
            found.append(Source("-", kind or "text", "", options, option))
            continue
        paths = [pattern] if _exists(pattern) else sorted(glob.glob(pattern, recursive=True))
        if not paths:
            raise InputError(option or "files", "a file that exists", repr(pattern))
        found += [_source(path, kind, options, option) for path in paths]
    return found


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError as error:  # a name too long, a folder that may not be entered
        raise InputError(path[:200], "a file that can be read", error.strerror or "none") from None


def _source(path: str, named: str | None, options: InputOptions, option: str) -> Source:
    if Path(path).is_dir():
        raise InputError(option or "files", "a file", f"a folder, {path!r}")
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in (".gz", ".zst") else ""
    kind = named or FORMATS.get(suffixes[-1] if suffixes else "")
    if kind is None and options.tool is not None:
        kind = "text"
    if kind is None:
        known = " ".join(FORMATS)
        raise InputError(path, f"a name that ends in {known} (.gz, .zst)", "another; use --format")
    return Source(path, kind, packed, options, option)


def read_all(sources: Sequence[Source], names: ColumnNames, bad: BadRows) -> list[RawLabels]:
    """All labels of the sources, each with the roles of its columns.

    Parameters
    ----------
    sources
        What `find_sources` found.
    names
        The columns.
    bad
        What to do with bad rows; takes what is to be said of the files, too.
    """
    found = [raw for source in sources for raw in _counting(source, names, bad)]
    finish(bad)
    return found


def _counting(source: Source, names: ColumnNames, bad: BadRows) -> list[RawLabels]:
    """The labels of a source; of a row without a task or a worker it is said how many there are."""
    try:
        return _read(source, names, bad)
    except InputError as error:
        if (error.expected, error.found) == ("a value", "nothing") and not source.piped:
            others = BadRows("skip")
            with contextlib.suppress(InputError):  # the first mistake is the one to tell
                _read(source, names, others)
            rows = f", as in {others.rows:,} rows" if others.rows > 1 else ""
            error = InputError(
                error.where, error.expected, f"nothing{rows} (--on-error skip leaves out)"
            )
        raise error from None


def _read(source: Source, names: ColumnNames, bad: BadRows) -> list[RawLabels]:
    shaper = Shaper(names, source.name)
    with clear_errors(source):
        check_size(source)
        if source.format in COLUMNAR:
            refuse_header_options(source.options, source.name, source.format)
            table = columnar.read(columnar_data(source), source.name, source.format, shaper, bad)
            return [_raw(table, shaper)]
        if not source.piped and not source.packed and source.format not in ("xlsx", "zip"):
            dialect, tool = _sniff_file(source, names)
            if dialect.plain and dialect.kind != "array" and tool is None:
                return [_raw(_read_plain(source, dialect, shaper, bad), shaper)]
        # What is packed or piped is never in memory as text.
        return _joined([raw for _, raw in _pieces(source, names, bad, BATCH_BYTES, whole=True)])


def _raw(labels: CodedLabels | pl.DataFrame, shaper: Shaper, title: str = "") -> RawLabels:
    """Labels with their roles; coded where a row is a label and nothing else."""
    roles = shaper.roles or Roles(*ROLES[:2], ROLES[2:])
    if not isinstance(labels, CodedLabels) and labels.columns == list(ROLES):
        labels = code_frame(labels)
    return RawLabels(labels, roles, shaper.left_out, title)


def _joined(pieces: list[RawLabels]) -> list[RawLabels]:
    """The pieces of a source as one, where they are in codes: strings are freed."""
    coded = [raw.labels for raw in pieces if isinstance(raw.labels, CodedLabels)]
    if len(coded) < 2 or len(coded) < len(pieces):
        return pieces
    return [pieces[0]._replace(labels=CodedLabels.concat(coded))]


def columnar_data(source: Source) -> str | bytes:
    """A file of columns as polars takes it: its path, or its bytes if it is packed or piped."""
    if not source.packed and source.path != "-":
        return source.path
    with open_bytes(source) as file:
        return file.read()


def _sniff_file(source: Source, names: ColumnNames) -> tuple[Dialect, Found | None]:
    with open(source.path, "rb") as file:
        head = file.read(SNIFFED)
    dialect = sniff(head, source.format, source.options, partial(count_roles, names))
    text = decode_head(head, dialect)
    return dialect, _find_tool(text, dialect, source, names)


def _find_tool(head: str, dialect: Dialect, source: Source, names: ColumnNames) -> Found | None:
    """Return the tool that a text is of, if any; one whose columns the user names is of none."""
    found, options = None, source.options
    if options.columns is None:
        found = find_tool(head, dialect, names, options.tool, source.name)
    if dialect.kind != "csv":
        refuse_header_options(options, source.name, "JSON")
    if found is not None:
        refuse_header_options(options, source.name, found.tool.title)
    return found


def _read_plain(
    source: Source, dialect: Dialect, shaper: Shaper, bad: BadRows
) -> CodedLabels | pl.DataFrame:
    """A whole file of text that readers take as it is, from its path."""
    if dialect.kind == "jsonl":
        bad.note(dialect.note(source.name))
        return jsonl.read(source.path, source.name, shaper, bad)
    found = dialect

    def decode(data: bytes) -> bytes:
        nonlocal found
        data, found = decide_whole(data, dialect)
        return data

    labels = csv_files.read(
        source.path, source.name, dialect.separator, shaper, bad, decode, source.options
    )
    bad.note(found.note(source.name))
    return labels


def read_batches(
    sources: Sequence[Source], names: ColumnNames, bad: BadRows, size: int = BATCH_BYTES
) -> Iterator[tuple[int, RawLabels]]:
    """The labels of the sources a batch at a time, each with the bytes it was read from.

    Parameters
    ----------
    sources, names, bad
        As for `read_all`.
    size
        Bytes of text read at a time.
    """
    for source in sources:
        with clear_errors(source):
            check_size(source)
            yield from _pieces(source, names, bad, size)
    finish(bad)


def _pieces(
    source: Source,
    names: ColumnNames,
    bad: BadRows,
    size: int,
    *,
    whole: bool = False,
    shaper: Shaper | None = None,
) -> Iterator[tuple[int, RawLabels]]:
    """The labels of a source a piece at a time; ``whole``: what a tool wrote as one piece."""
    name, shaper = source.name, shaper or Shaper(names, source.name)
    if source.format in COLUMNAR:
        refuse_header_options(source.options, name, source.format)
        data = columnar_data(source)
        pieces = columnar.read_pieces(data, name, source.format, shaper, bad)
        yield from ((read, _raw(table, shaper)) for read, table in pieces)
    elif source.format == "xlsx":
        from crowdstream.labels.readers.excel import read_sheet

        sheet = read_sheet(source, label_header(names), bad.note)
        yield 0, _raw(columnar.read_frame(sheet, shaper, bad), shaper)
    elif source.format == "zip":
        from crowdstream.labels.readers.archives import read_archive

        for entry, file in read_archive(source):
            kind = FORMATS[PurePath(entry).suffix.lower()]
            path = f"{source.path}/{entry}"
            inside = source._replace(path=path, format=kind, archive=name)
            yield from _text_pieces(
                file, inside, Shaper(names, inside.name), bad, size, whole=whole
            )
    else:
        with open_bytes(source) as file:
            yield from _text_pieces(file, source, shaper, bad, size, whole=whole)


def _text_pieces(
    file: Readable, source: Source, shaper: Shaper, bad: BadRows, size: int, *, whole: bool
) -> Iterator[tuple[int, RawLabels]]:
    name, names = source.name, shaper.names
    text = TextStream(file, source, partial(count_roles, names))
    tool = _find_tool(text.head, text.dialect, source, names)
    pieces: Iterator[tuple[int, CodedLabels | pl.DataFrame]]
    if tool is not None:
        for read, table in read_tool(text, tool, source, bad, size, whole=whole):
            roles = Roles(*ROLES[:2], ROLES[2:], "question")
            yield read, RawLabels(table, roles, title=tool.tool.title)
    elif text.dialect.kind == "csv":
        separator = text.dialect.separator
        pieces = csv_files.read_pieces(text, name, separator, shaper, bad, size, source.options)
        yield from ((read, _raw(labels, shaper)) for read, labels in pieces)
    else:
        array = text.dialect.kind == "array"
        lines = ArrayLines(text, name) if array else text
        unit = "row" if array else "line"
        pieces = jsonl.read_pieces(lines, name, shaper, bad, size, unit)
        yield from ((read, _raw(labels, shaper)) for read, labels in pieces)
    bad.note(text.dialect.note(name))


class FileOrigin:
    """The files that labels came from, read again where labels contradict one another.

    Parameters
    ----------
    sources, names
        As for `read_all`.
    """

    def __init__(self, sources: Sequence[Source], names: ColumnNames) -> None:
        self.sources, self.names = sources, names

    def telling_columns(self) -> list[str]:
        """Columns without a role that tell such labels apart; of pipes they are not known."""
        for source in self.sources:
            if not source.piped and source.format != "zip":
                found = self._in(source)
                if found:
                    return found
        return []

    def _in(self, source: Source) -> list[str]:
        import polars as pl

        shaper = _WholeTable(self.names, source.name)
        tables: list[pl.DataFrame] = []
        for _, raw in _pieces(source, self.names, BadRows("skip"), BATCH_BYTES, shaper=shaper):
            if raw.title or isinstance(raw.labels, CodedLabels):
                return []
            tables.append(raw.labels)
        roles = shaper.real
        if roles is None or roles.worker is None or not roles.others or not roles.labels:
            return []
        keys = [name for name in (roles.task, roles.worker, roles.question) if name is not None]
        table = pl.concat(tables, how="diagonal")
        return telling_columns(table, keys, roles.labels[0], list(roles.others))

    def words(self, role: str, value: str) -> str:
        """The words that give a role to a column."""
        return f"--{role} {shlex.quote(value)}" if value else f"--{role}"


class _WholeTable(Shaper):
    """Leaves tables as they are, all their columns in them."""

    def __init__(self, names: ColumnNames, where: str) -> None:
        super().__init__(names, where)
        self.real: Roles | None = None

    def look_at(self, header: Sequence[str], where: str | None = None) -> Roles:
        """The roles, without the label's: all columns are needed."""
        self.real = super().look_at(header, where)
        return self.real._replace(labels=())

    def shape(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table as it is."""
        self.look_at(table.columns)
        return table
