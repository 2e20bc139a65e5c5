"""Routes of workers: the list, sorted and searched, and one worker over time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.labels import ClassLabel
from crowdstream.monitoring import Trends, trends
from crowdstream.monitoring.estimator_view import as_polars, find_observer
from crowdstream.serve import asking, forgetting, log_events
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.server import (
    PAGED,
    TEXT,
    Endpoint,
    Query,
    choice,
    json,
    make_cursor,
    one_of,
    page_size,
    read_cursor,
    server_of,
)
from crowdstream.serve.store import Store
from crowdstream.serve.wire import (
    AlarmsOut,
    AnswerOut,
    Confusion,
    Deleted,
    HistoryPoint,
    TrendPoint,
    WorkerListRow,
    WorkerOut,
    WorkerRow,
    WorkersOut,
)

if TYPE_CHECKING:
    import polars as pl

SORTS = {"answers": True, "error_rate": True, "trend": True, "name": False}
"""What workers are sorted by, and whether the largest come first."""

MOST_CELLS = 200_000
"""Cells of confusions beyond which one worker's are not shown: all have to be made for it."""

MOST_LINES = 200
"""Workers of a page beyond which their error rates over time are left out: each is read anew."""

RECENT, LOOKED_AT = 20, 5000
"""A worker's latest answers that are shown, and parts of the log in which they are looked for."""

Said = list[tuple[str, ClassLabel | None, float]]
"""Task, label and time of answers."""


async def list_workers(request: Request) -> Response:
    """Workers, sorted."""
    engine, name = server_of(request).engine, request.path_params["project"]
    sort = choice(request, "sort", tuple(SORTS), "answers")
    default = "desc" if SORTS[sort] else "asc"
    order = choice(request, "order", ("asc", "desc"), default)
    size, cursor = page_size(request), request.query_params.get("cursor")
    first = max(read_cursor(cursor, (int,))[0], 0) if cursor is not None else 0
    wanted = request.query_params.get("q", "").lower()
    table = await engine.look(name, lambda: engine.readings(name).workers())
    page = await asyncio.to_thread(_page, table, sort, order == "desc", wanted, first, size)
    if len(page.workers) <= MOST_LINES:
        await engine.look(name, lambda: _add_lines(engine, name, page.workers))
    return json(page)


def _add_lines(engine: Engine, name: str, rows: list[WorkerListRow]) -> None:
    """Each worker's error rates over time."""
    crowd = engine.project(name).stream.crowd
    if find_observer(crowd, Trends) is None:
        return
    known = {row.worker: row for row in rows if row.worker in crowd.workers_}
    points = trends(crowd, list(known)).select("worker", "error_rate")
    for worker, rate in points.iter_rows():
        known[str(worker)].line.append(round(rate, 4))


def _page(
    table: pl.DataFrame, sort: str, descending: bool, wanted: str, first: int, size: int
) -> WorkersOut:
    import polars as pl

    if wanted:
        names = pl.col("worker").str.to_lowercase()
        table = table.filter(names.str.contains(wanted, literal=True))
    column = "worker" if sort == "name" else sort
    by = [column] if column == "worker" else [column, "worker"]
    order = [descending] if column == "worker" else [descending, False]
    table = table.sort(by, descending=order, nulls_last=True)
    rows = msgspec.convert(table.slice(first, size).to_dicts(), list[WorkerListRow])
    more = first + size < table.height
    return WorkersOut(rows, table.height, make_cursor(first + size) if more else None)


def rows_of(table: pl.DataFrame) -> list[WorkerRow]:
    """Rows of a table of workers."""
    return msgspec.convert(table.to_dicts(), list[WorkerRow])


async def get_worker(request: Request) -> Response:
    """A worker over time."""
    server, name = server_of(request), request.path_params["project"]
    worker = request.path_params["worker"]
    engine = server.engine
    number = (await engine.ask(lambda: engine.project(name))).id
    samples = await asyncio.to_thread(lambda: server.store.reader().history(number, worker))
    history = [HistoryPoint(*sample) for sample in samples]
    said = await asyncio.to_thread(_latest, server.store, number, worker)
    return json(await engine.look(name, lambda: _describe(engine, name, worker, history, said)))


def _latest(store: Store, project: int, worker: str) -> Said:
    """What a worker said last, the latest first."""
    found: Said = []
    for events in store.reader().latest_log_of(project, log_events.needle(worker), LOOKED_AT):
        found += log_events.answers_in(log_events.unpack(events), worker)[::-1]
        if len(found) >= RECENT:
            break
    return found[:RECENT]


def _decided(project: Project, task: str, label: ClassLabel | None, at: float) -> AnswerOut:
    closed = project.closed_task(task)
    if closed is not None:
        return AnswerOut(task, label, at, closed.decision.label, closed=True)
    decision = asking.open_decision(project.stream, task)
    return AnswerOut(task, label, at, None if decision is None else decision.label)


def _describe(
    engine: Engine, name: str, worker: str, history: list[HistoryPoint], said: Said
) -> WorkerOut:
    import polars as pl

    readings, crowd = engine.readings(name), engine.project(name).stream.crowd
    rows = rows_of(readings.workers().filter(pl.col("worker") == worker).head(1))
    if not rows:
        raise ProblemError(404, f"no worker {worker!r} in project {name!r}")
    line: list[TrendPoint] = []
    if find_observer(crowd, Trends) is not None and worker in crowd.workers_:
        points = trends(crowd, [worker]).drop("worker")
        line = msgspec.convert(points.to_dicts(), list[TrendPoint])
    confusions: list[Confusion] = []
    if len(crowd._workers) * max(len(crowd.classes_), 2) ** 2 <= MOST_CELLS:
        table = as_polars(crowd.confusions()).filter(pl.col("worker").cast(pl.String) == worker)
        confusions = msgspec.convert(table.drop("worker").to_dicts(), list[Confusion])
    rang = [alarm for alarm in readings.alarms if alarm.worker == worker]
    fields = msgspec.structs.asdict(rows[0])
    recent = [_decided(engine.project(name), *one) for one in said]
    return WorkerOut(
        **fields, history=history, trends=line, alarms=rang, confusions=confusions, recent=recent
    )


async def delete_worker(request: Request) -> Response:
    """Delete a worker with all labels: what they taught is unlearnt."""
    engine, name = server_of(request).engine, request.path_params["project"]
    gone = forgetting.Gone(worker=request.path_params["worker"])
    return json(await forgetting.forget(engine, name, gone))


async def list_alarms(request: Request) -> Response:
    """Alarms, the latest first."""
    engine, name = server_of(request).engine, request.path_params["project"]
    return json(AlarmsOut(await engine.ask(lambda: engine.readings(name).alarms[::-1])))


_P = "/v1/projects/{project}/workers"
_QUERY = (
    Query("sort", one_of(*SORTS), "What they are sorted by.", "answers"),
    Query("order", one_of("asc", "desc"), "By default the largest first, names from a to z."),
    Query("q", TEXT, "Only workers whose name contains this."),
    *PAGED,
)

ENDPOINTS = (
    Endpoint("GET", _P, list_workers, "read", "Workers, sorted.",
             gives=WorkersOut, query=_QUERY, tag="workers"),
    Endpoint("GET", _P + "/{worker:path}", get_worker, "read", "A worker over time.",
             gives=WorkerOut, tag="workers"),
    Endpoint("DELETE", _P + "/{worker:path}", delete_worker, "admin",
             "Delete a worker with all labels, as if they had never been sent.",
             gives=Deleted, tag="workers"),
    Endpoint("GET", "/v1/projects/{project}/alarms", list_alarms, "read",
             "Workers whose error rate has changed, the latest first.",
             gives=AlarmsOut, tag="workers"),
)  # fmt: skip
