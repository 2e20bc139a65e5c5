"""Routes of tasks: lists by state, and one task with its votes and what each added."""

from __future__ import annotations

import asyncio
from itertools import islice

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.decisions.decision import Decision
from crowdstream.labels import ClassLabel
from crowdstream.serve import asking, forgetting, log_events
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.server import (
    MOST_PAGE,
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
from crowdstream.serve.store import ClosedTask, Store
from crowdstream.serve.wire import Deleted, TaskOut, TaskRow, TasksOut, VoteOut
from crowdstream.stream.stream import UncertainTask

STATES = ("open", "uncertain", "closed", "settled")

MOST_LOOKED_AT = 100_000
"""Closed tasks that one request looks at for a name; the next page goes on from there."""

Said = dict[str, tuple[ClassLabel | None, float | None]]
"""Who said what, and when."""


async def list_tasks(request: Request) -> Response:
    """Tasks by their state."""
    state = choice(request, "state", STATES, "uncertain")
    size, cursor = page_size(request), request.query_params.get("cursor")
    wanted = request.query_params.get("q", "").lower()
    engine, name = server_of(request).engine, request.path_params["project"]
    if state == "open":
        first = read_cursor(cursor, (str, int))[1] if cursor is not None else 0
        return json(await engine.look(name, lambda: _open_page(engine, name, first, size, wanted)))
    if state == "uncertain":
        mark = read_cursor(cursor, (str, float, int))[1:] if cursor is not None else None
        after = None if mark is None else UncertainTask("", mark[0], 0, mark[1])
        return json(
            await engine.look(name, lambda: _doubtful_page(engine, name, after, size, wanted))
        )
    place = read_cursor(cursor, (str, int, int))[1:] if cursor is not None else None
    before = None if place is None else (place[0], place[1])
    number = (await engine.ask(lambda: engine.project(name))).id
    settled = state == "settled"
    store = server_of(request).store
    page = await asyncio.to_thread(_closed_page, store, number, before, size, wanted, settled)
    return json(page)


def _open_page(engine: Engine, name: str, first: int, size: int, wanted: str) -> TasksOut:
    """Open tasks, the longest idle first."""
    project = engine.project(name)
    names = engine.readings(name).open_tasks()
    rows: list[TaskRow] = []
    place = max(first, 0)
    while place < len(names) and len(rows) < size:
        task = names[place]
        place += 1
        if wanted in task.lower() and (row := _open_row(project, task)) is not None:
            rows.append(row)
    return TasksOut(rows, make_cursor("o", place) if place < len(names) else None)


def _doubtful_page(
    engine: Engine, name: str, after: UncertainTask | None, size: int, wanted: str
) -> TasksOut:
    """Open tasks, the least sure first."""
    project = engine.project(name)
    step = size + 1 if not wanted else MOST_PAGE
    rows: list[TaskRow] = []
    for _ in range(MOST_LOOKED_AT // step + 1):
        found = project.stream.most_uncertain(step, after)
        for task in found:
            if len(rows) == size and after is not None:
                return TasksOut(rows, make_cursor("u", after.confidence, after.opened))
            after = task
            if wanted in str(task.task).lower():
                rows.append(_known_row(project, str(task.task)))
        if len(found) < step:
            return TasksOut(rows, None)
    return TasksOut(
        rows, None if after is None else make_cursor("u", after.confidence, after.opened)
    )


def _open_row(project: Project, task: str) -> TaskRow | None:
    """An open task; ``None`` if it is not open."""
    if asking.open_decision(project.stream, task) is None:
        return None
    return _known_row(project, task)


def _known_row(project: Project, task: str) -> TaskRow:
    needs = asking.more_labels_needed(project.stream, task)
    return _row(TaskRow, project.stream.decision(task), needs=needs)


def _row(kind: type[TaskRow], decision: Decision, **more: object) -> TaskRow:
    return kind(**msgspec.structs.asdict(decision), **more)  # type: ignore[arg-type]


def _closed_page(
    store: Store,
    project: int,
    before: tuple[int, int] | None,
    size: int,
    wanted: str,
    settled: bool,
) -> TasksOut:
    """Closed tasks, the latest first."""
    rows: list[TaskRow] = []
    looked, place = 0, (0, 0)
    found = islice(store.reader().closed(project, before), MOST_LOOKED_AT)
    for looked, (row, offset, task) in enumerate(found, start=1):  # noqa: B007
        place = row, offset
        decision = task.decision
        if wanted in str(decision.task).lower() and (decision.settled or not settled):
            rows.append(_row(TaskRow, decision, at=task.at))
            if len(rows) == size:
                break
    more = len(rows) == size or looked == MOST_LOOKED_AT
    return TasksOut(rows, make_cursor("c", *place) if more else None)


async def get_task(request: Request) -> Response:
    """A task with its votes."""
    server, name, task = server_of(request), *_names(request)
    engine = server.engine

    def find() -> tuple[int, ClosedTask | None, Said]:
        project = engine.project(name)
        closed = project.closed_task(task)
        if closed is not None:
            return project.id, closed, {}
        if asking.open_decision(project.stream, task) is None:
            raise ProblemError(404, f"no task {task!r} in project {name!r}")
        votes = project.stream.votes(task)
        return project.id, None, {str(vote.worker): (vote.label, None) for vote in votes}

    number, closed, said = await engine.look(name, find)
    logged = await asyncio.to_thread(_logged_votes, server.store, number, task)
    if closed is not None:
        said = logged
    else:
        said = {worker: (label, logged.get(worker, (None, None))[1])
                for worker, (label, _) in said.items()}  # fmt: skip
    return json(await engine.look(name, lambda: _describe(engine, name, task, closed, said)))


async def delete_task(request: Request) -> Response:
    """Delete a task with its labels: what they taught is unlearnt."""
    name, task = _names(request)
    gone = forgetting.Gone(task=task)
    return json(await forgetting.forget(server_of(request).engine, name, gone))


def _names(request: Request) -> tuple[str, str]:
    return request.path_params["project"], request.path_params["task"]


def _logged_votes(store: Store, project: int, task: str) -> Said:
    """Who said what of a task, by the log: as far as labels are kept."""
    found: Said = {}
    for events in store.reader().log_of(project, log_events.needle(task)):
        for worker, label, at in log_events.votes_in(log_events.unpack(events), task):
            found.pop(worker, None)
            if label is not None:
                found[worker] = label, at
    return found


def _describe(
    engine: Engine, name: str, task: str, closed: ClosedTask | None, said: Said
) -> TaskOut:
    """The task with what each vote adds, by what is known of the workers now."""
    project = engine.project(name)
    stream = project.stream
    row = _closed_row(closed) if closed is not None else _find_open(project, task)
    answers = {worker: label for worker, (label, _) in said.items() if label is not None}
    adds: dict[str, float | None] = {}
    probabilities: list[tuple[ClassLabel, float]] = []
    if answers and row.label is not None and len(stream.crowd.classes_) > 1:
        if stream.crowd.identifiable_:  # else votes are counted, and none adds more than another
            adds = asking.added(stream.crowd, answers, row.label)
        chances = stream.crowd.predict_proba_one(answers)
        probabilities = sorted(chances.items(), key=lambda item: -item[1])[:20]
    rates = _error_rates(engine, name, list(said))
    labels = [
        VoteOut(worker, label, adds.get(worker), rates.get(worker), at)
        for worker, (label, at) in said.items()
    ]
    gold = project.state.truths.get(task)
    return TaskOut(
        **msgspec.structs.asdict(row), gold=gold, labels=labels,
        votes_kept=len(answers) >= row.votes, probabilities=probabilities,
    )  # fmt: skip


def _find_open(project: Project, task: str) -> TaskRow:
    if (closed := project.closed_task(task)) is not None:  # it has closed in the meantime
        return _closed_row(closed)
    return _known_row(project, task)


def _closed_row(closed: ClosedTask) -> TaskRow:
    return _row(TaskRow, closed.decision, at=closed.at)


def _error_rates(engine: Engine, name: str, workers: list[str]) -> dict[str, float | None]:
    import polars as pl

    table = engine.readings(name).workers()
    found = table.filter(pl.col("worker").is_in(workers)).select("worker", "error_rate")
    return dict(found.iter_rows())


_P = "/v1/projects/{project}/tasks"
_QUERY = (
    Query("state", one_of(*STATES), "open: the longest idle first; uncertain: the least sure first;"
          " closed or settled: the latest first.", "uncertain"),
    Query("q", TEXT, "Only tasks whose name contains this."),
    *PAGED,
)  # fmt: skip

ENDPOINTS = (
    Endpoint("GET", _P, list_tasks, "read", "Tasks by their state.",
             gives=TasksOut, query=_QUERY, tag="tasks"),
    Endpoint("GET", _P + "/{task:path}", get_task, "read",
             "A task with its votes and the log-odds that each added.", gives=TaskOut, tag="tasks"),
    Endpoint("DELETE", _P + "/{task:path}", delete_task, "admin",
             "Delete a task with its labels, as if they had never been sent.",
             gives=Deleted, tag="tasks"),
)  # fmt: skip
