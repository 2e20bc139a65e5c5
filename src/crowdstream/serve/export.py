"""Decisions and workers as files: CSV, lines of JSON, Parquet."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from crowdstream.labels import ClassLabel
from crowdstream.serve import log_events, posteriors
from crowdstream.serve.engine import Engine
from crowdstream.serve.server import Endpoint, Query, choice, one_of, server_of
from crowdstream.serve.store import Reader
from crowdstream.stream.stream import Stream

if TYPE_CHECKING:
    import polars as pl

KINDS = {
    "csv": "text/csv; charset=utf-8",
    "spreadsheet": "text/csv; charset=utf-8",
    "ndjson": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}

TASKS = ("closed", "open", "all")

FORMULA = "^[=+\\-@\t\r\n＝＋－＠]"
"""Beginning of text that a spreadsheet computes: with ``format=spreadsheet`` it gets an apostrophe
before it. That makes it another name, so plain CSV, which is read back, is left as it is."""

CHUNK = 20_000
"""Decisions in memory at a time, but for Parquet, which is made whole."""


async def export_decisions(request: Request) -> Response:
    """Decisions on tasks, closed ones in the order in which they closed."""
    server, name = server_of(request), request.path_params["project"]
    kind = choice(request, "format", tuple(KINDS), "csv")
    which = choice(request, "tasks", TASKS, "closed")
    wants = choice(request, "probabilities", ("true", "false"), "false") == "true"
    copied = which != "closed" or wants
    taken = await server.engine.look(name, lambda: _take(server.engine, name, copied))
    tables = _tables(server.store.folder, taken, which, wants)
    if kind == "parquet":
        data = await asyncio.to_thread(_parquet, tables)
        return _file(data, f"{name}-decisions", kind)
    parts = (_text(table, kind, first=number == 0) for number, table in enumerate(tables))
    return _Closing(
        parts, media_type=KINDS[kind], headers=_disposition(f"{name}-decisions", kind), ends=tables
    )


class _Closing(StreamingResponse):
    """Closes what it reads once all is sent, or nobody reads on: garbage is collected late here."""

    def __init__(self, *given: Any, ends: Generator[object, None, None], **more: Any) -> None:
        super().__init__(*given, **more)
        self._ends = ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ends.close()


class _Taken(NamedTuple):
    """A project between two groups: its number, the last part of the log, the stream if needed."""

    project: int
    seq: int
    stream: bytes
    truths: dict[str, ClassLabel]


def _take(engine: Engine, name: str, copied: bool) -> _Taken:
    """Copy what an export is made of, as a snapshot does, so that labels need not wait for it."""
    project = engine.project(name)
    stream = project.stream.to_bytes() if copied else b""
    return _Taken(project.id, engine.store.seq, stream, dict(project.state.truths))


def _tables(
    folder: Path, taken: _Taken, which: str, wants: bool
) -> Generator[pl.DataFrame, None, None]:
    """Tasks in tables of at most `CHUNK` rows; at least one, which may be empty."""
    stream = Stream.load(taken.stream) if taken.stream else None
    classes = len(stream.crowd.classes_) if stream is not None and wants else 0
    # A connection of its own: the thread that goes on with it is another each time.
    with closing(Reader(folder)) as reader:
        tasks = chain.from_iterable(_voted(reader, taken, stream, which, wants))
        for part in posteriors.in_parts(tasks, CHUNK, classes):
            table = _table(part)
            if stream is not None and wants:
                more = posteriors.probability_columns(stream, part, table.columns)
                table = table.with_columns(**more)
            yield table


def _voted(
    reader: Reader, taken: _Taken, stream: Stream | None, which: str, wants: bool
) -> Iterator[Iterable[posteriors.Voted]]:
    if which != "open":
        if wants:
            yield posteriors.closed_tasks(reader, taken.project, taken.seq)
        else:
            yield posteriors.without_votes(reader.closed(taken.project, newest_first=False))
    if stream is not None and which != "closed":
        yield posteriors.open_tasks(stream, taken.truths)


async def export_labels(request: Request) -> Response:
    """All that was said of tasks, in the order in which it came, as far as labels are kept."""
    server, name = server_of(request), request.path_params["project"]
    kind = choice(request, "format", tuple(KINDS), "csv")
    engine = server.engine
    number, upto = await engine.look(name, lambda: (engine.project(name).id, engine.store.seq))
    tables = _label_tables(server.store.folder, number, upto)
    if kind == "parquet":
        data = await asyncio.to_thread(_parquet, tables)
        return _file(data, f"{name}-labels", kind)
    parts = (_text(table, kind, first=number == 0) for number, table in enumerate(tables))
    headers = _disposition(f"{name}-labels", kind)
    return _Closing(parts, media_type=KINDS[kind], headers=headers, ends=tables)


def _label_tables(folder: Path, project: int, upto: int) -> Generator[pl.DataFrame, None, None]:
    """Labels in tables of about `CHUNK` rows; at least one, which may be empty."""
    with closing(Reader(folder)) as reader:
        rows: list[tuple[object, ...]] = []
        for _, packed in reader.log_until(project, upto):
            for event in log_events.unpack(packed):
                rows += _said(event)
            if len(rows) >= CHUNK:
                yield _label_table(rows)
                rows = []
        yield _label_table(rows)


def _said(event: log_events.Event) -> Iterator[tuple[object, ...]]:
    """Task, worker, label, time, event and whether the task had closed."""
    match event:
        case log_events.Labels(at, rows) | log_events.Late(at, rows):
            late = isinstance(event, log_events.Late)
            for task, worker, label in rows:
                yield task, worker, _text_of(label), at, "skip" if label is None else "label", late
        case log_events.Retract(at, task, worker):
            yield task, worker, None, at, "retract", False
        case log_events.Gold(at, task, label, late):
            yield task, None, _text_of(label), at, "gold", late


def _label_table(rows: list[tuple[object, ...]]) -> pl.DataFrame:
    import polars as pl

    text, kinds = pl.String, (pl.Float64, pl.String, pl.Boolean)
    names = ("task", "worker", "label", "at", "event", "late")
    columns = zip(*rows, strict=True) if rows else ((),) * len(names)
    return pl.DataFrame(
        [
            pl.Series(name, column, kind)
            for name, column, kind in zip(names, columns, (text, text, text, *kinds), strict=True)
        ]
    )


async def export_workers(request: Request) -> Response:
    """The table of workers."""
    import polars as pl

    engine, name = server_of(request).engine, request.path_params["project"]
    kind = choice(request, "format", tuple(KINDS), "csv")
    table = await engine.look(name, lambda: engine.readings(name).workers())
    if kind in ("csv", "spreadsheet"):
        table = table.with_columns(pl.col("flags").list.join(" "))
    if kind == "parquet":
        data = await asyncio.to_thread(_parquet, iter([table]))
    else:
        data = await asyncio.to_thread(_text, table, kind, first=True)
    return _file(data, f"{name}-workers", kind)


def _table(tasks: list[posteriors.Voted]) -> pl.DataFrame:
    import polars as pl

    decisions = [task.decision for task in tasks]
    columns = {
        "task": pl.Series([str(one.task) for one in decisions], dtype=pl.String),
        "label": pl.Series([_text_of(one.label) for one in decisions], dtype=pl.String),
        "confidence": pl.Series([one.confidence for one in decisions], dtype=pl.Float64),
        "margin": pl.Series([one.margin for one in decisions], dtype=pl.Float64),
        "votes": pl.Series([one.votes for one in decisions], dtype=pl.Int64),
        "settled": pl.Series([one.settled for one in decisions], dtype=pl.Boolean),
        "identifiable": pl.Series([one.identifiable for one in decisions], dtype=pl.Boolean),
        "closed": pl.Series([one.closed for one in decisions], dtype=pl.String),
        "at": pl.Series([task.at for task in tasks], dtype=pl.Float64),
    }
    return pl.DataFrame(columns)


def _text_of(label: ClassLabel | None) -> str | None:
    if label is None or isinstance(label, str):
        return label
    return msgspec.json.encode(label).decode()


def _text(table: pl.DataFrame, kind: str, *, first: bool) -> bytes:
    if kind == "spreadsheet":
        table = _no_formulas(table)
    if kind in ("csv", "spreadsheet"):
        return table.write_csv(include_header=first).encode()
    return b"".join(msgspec.json.encode(row) + b"\n" for row in table.to_dicts())


def _no_formulas(table: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before what a spreadsheet would compute, names of columns too."""
    import polars as pl

    text = pl.col(pl.String)
    safe = pl.when(text.str.contains(FORMULA)).then("'" + text).otherwise(text)
    names = {name: f"'{name}" for name in table.columns if re.match(FORMULA, name)}
    return table.with_columns(safe.name.keep()).rename(names)


def _parquet(chunks: Iterator[pl.DataFrame]) -> bytes:
    import polars as pl

    out = io.BytesIO()
    pl.concat(list(chunks)).write_parquet(out)
    return out.getvalue()


def _file(data: bytes, name: str, kind: str) -> Response:
    return Response(data, media_type=KINDS[kind], headers=_disposition(name, kind))


def _disposition(name: str, kind: str) -> dict[str, str]:
    suffix = "csv" if kind == "spreadsheet" else kind
    return {"Content-Disposition": f'attachment; filename="{name}.{suffix}"'}


_P = "/v1/projects/{project}/export"
_TASKS = Query("tasks", one_of(*TASKS), "Which tasks.", "closed")
_PROBABILITIES = Query(
    "probabilities",
    one_of("true", "false"),
    "A column per class with its probability, by what is known of the workers now.",
    "false",
)
_FORMAT = (
    Query(
        "format",
        one_of(*KINDS),
        "The kind of file; `spreadsheet` is CSV in which nothing is computed.",
        "csv",
    ),
)
_KINDS = tuple(dict.fromkeys(kind.partition(";")[0] for kind in KINDS.values()))

ENDPOINTS = (
    Endpoint("GET", f"{_P}/decisions", export_decisions, "read",
             "Decisions on closed tasks as a file.", query=(*_FORMAT, _TASKS, _PROBABILITIES),
             tag="export", kinds=_KINDS),
    Endpoint("GET", f"{_P}/labels", export_labels, "read",
             "All labels as they came, with skips, retractions and truths, as a file.",
             query=_FORMAT, tag="export", kinds=_KINDS),
    Endpoint("GET", f"{_P}/workers", export_workers, "read", "The table of workers as a file.",
             query=_FORMAT, tag="export", kinds=_KINDS),
)  # fmt: skip
