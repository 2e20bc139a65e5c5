"""`/metrics` for Prometheus, `/healthz` and `/readyz`."""

from __future__ import annotations

import asyncio
import math
import os
import re
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve.engine import Engine
from crowdstream.serve.server import Endpoint, json, server_of
from crowdstream.serve.traffic import BOUNDS, Histogram
from crowdstream.serve.wire import Health, Overview

if TYPE_CHECKING:
    import polars as pl

STARTED = time.time()

MOST_WORKERS = 100
"""Workers of a project that have gauges, the busiest: each is a time series per gauge, which a
server of metrics keeps for weeks."""

WORKER_GAUGES = {
    "error_rate": "Estimated error rate",
    "error_low": "Lower end of the interval of the error rate",
    "error_high": "Upper end of the interval of the error rate",
    "answers": "Answers",
    "weight": "Weight of a vote",
}
"""Columns of the table of workers that are gauges, and what they are."""

PARTS = "_seconds_(bucket|sum|count)$"
"""Endings of the names of a histogram's samples."""

Sample = tuple[str, str, float]
"""Name, labels and value of a number."""

HELP = {
    "labels_total": ("counter", "Labels taken."),
    "late_labels_total": ("counter", "Labels that came after their task had closed."),
    "closed_tasks_total": ("counter", "Tasks closed, by why."),
    "open_tasks": ("gauge", "Tasks that take labels."),
    "workers": ("gauge", "Workers met."),
    "expected_wrong_share": (
        "gauge",
        "Expected share of wrong decisions among closed tasks, with its interval.",
    ),
    **{
        f"worker_{column}": (
            "gauge",
            f"{about}, of the busiest workers: at most {MOST_WORKERS} a project.",
        )
        for column, about in WORKER_GAUGES.items()
    },
    "alarms_total": ("counter", "Changes of workers noticed, as far as they are remembered."),
    "hook_requests_total": ("counter", "Requests of annotation tools, by what became of them."),
    "waiting_requests": ("gauge", "Requests that wait to be written."),
    "waiting_labels": ("gauge", "Labels of these requests."),
    "commit_seconds": ("histogram", "Time to write a group of requests, with the fsync."),
    "request_seconds": ("histogram", "Time from a request's head to its answer."),
    "snapshot_age_seconds": ("gauge", "Age of what a start would replay, by project."),
    "writable": ("gauge", "Whether labels can be written."),
    "disk_free_bytes": ("gauge", "Bytes that are free where the data are."),
    "listeners": ("gauge", "Listeners to /events."),
    "responses_total": ("counter", "Responses, by status."),
    "resident_bytes": ("gauge", "Memory of the process."),
    "start_time_seconds": ("gauge", "When the server started."),
}


async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    server = server_of(request)
    engine = server.engine
    found: list[Sample] = []
    names = await engine.ask(lambda: list(engine.projects))
    for overview in await engine.overviews(names):
        found += _of_project(overview)
    # One project at a time, so that labels are taken in between; tables are those of the page.
    for name in names:
        readings = await engine.look(name, partial(_read, engine, name))
        if readings is not None:
            found.append(("alarms_total", f'project="{escape(name)}"', readings[0]))
            found += await asyncio.to_thread(list, _of_workers(name, readings[1]))
    statuses = server.traffic.statuses
    found += [("responses_total", f'status="{code}"', n) for code, n in sorted(statuses.items())]
    found += [
        ("waiting_requests", "", engine.waiting),
        ("waiting_labels", "", engine.waiting_labels),
        *_histogram("commit_seconds", "", engine.commit_times),
        ("writable", "", 0 if engine.failing else 1),
        *(("disk_free_bytes", "", free) for free in _free(server.store.folder)),
        ("listeners", "", request.app.state.feeds.listeners),
        ("resident_bytes", "", _resident()),
        ("start_time_seconds", "", STARTED),
    ]
    for route, times in server.traffic.times.items():
        found += _histogram("request_seconds", f'kind="{route}"', times)
    for name, age in (await engine.ask(engine.snapshot_ages)).items():
        found.append(("snapshot_age_seconds", f'project="{escape(name)}"', age))
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for name, labels, value in found:
        shown = f"{{{labels}}}" if labels else ""
        by_name[re.sub(PARTS, "_seconds", name)].append(f"crowdstream_{name}{shown} {value}")
    lines = []
    for name, (kind, about) in HELP.items():
        lines += [f"# HELP crowdstream_{name} {about}", f"# TYPE crowdstream_{name} {kind}"]
        lines += by_name[name]
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _histogram(name: str, label: str, times: Histogram) -> Iterator[Sample]:
    """Samples of a histogram: how many took at most so long."""
    more, count = f"{label}," if label else "", 0
    for bound, number in zip((*map(str, BOUNDS), "+Inf"), times.counts, strict=True):
        count += number
        yield f"{name}_bucket", f'{more}le="{bound}"', count
    yield f"{name}_sum", label, times.seconds
    yield f"{name}_count", label, count


def escape(text: str) -> str:
    r"""Return a name as a label's value may have it: backslash, quote and line end are escaped.

    >>> print(escape('a"b'), escape("back\\slash"))
    a\"b back\\slash
    """
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _read(engine: Engine, name: str) -> tuple[int, pl.DataFrame] | None:
    """Alarms, and the table of workers that pages show; nothing of a project that is gone."""
    if name not in engine.projects:
        return None
    readings = engine.readings(name)
    return len(readings.alarms), readings.workers()


def _of_workers(project: str, table: pl.DataFrame) -> Iterator[Sample]:
    """Gauges of the busiest workers; what cannot be told of a worker has none."""
    columns = list(WORKER_GAUGES)
    # Ties are broken by name, so that the same workers are shown from scrape to scrape.
    busiest = table.sort(["answers", "worker"], descending=[True, False]).head(MOST_WORKERS)
    for worker, *values in busiest.select("worker", *columns).iter_rows():
        label = f'project="{escape(project)}",worker="{escape(worker)}"'
        for column, value in zip(columns, values, strict=True):
            if value is not None and math.isfinite(value):
                yield f"worker_{column}", label, value


def _of_project(one: Overview) -> Iterator[Sample]:
    label = f'project="{escape(one.project)}"'
    yield "labels_total", label, one.labels
    yield "late_labels_total", label, one.late
    yield "workers", label, one.workers
    for outcome in ("answered", "refused"):
        yield "hook_requests_total", f'{label},outcome="{outcome}"', getattr(one.hooks, outcome)
    wrong = one.expected_errors
    if wrong is not None:
        for bound, share in (
            ("estimate", wrong.rate),
            ("low", wrong.rate_low),
            ("high", wrong.rate_high),
        ):
            yield "expected_wrong_share", f'{label},bound="{bound}"', share
    tasks = msgspec.structs.asdict(one.tasks)
    yield "open_tasks", label, tasks["open"]
    for why, number in tasks.items():
        if why not in ("open", "closed"):
            yield "closed_tasks_total", f'{label},why="{why}"', number


def _free(folder: Path) -> list[int]:
    """Bytes that are free in a folder; none if that cannot be told."""
    try:
        return [shutil.disk_usage(folder).free]
    except OSError:
        return []


def _resident() -> int:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, ValueError):
        return 0


async def healthz(_: Request) -> Response:
    """Whether the process answers at all."""
    return json(Health("ok"))


async def readyz(request: Request) -> Response:
    """Whether labels can be taken."""
    server = server_of(request)
    if server.engine.failing:
        return json(Health("failing", server.engine.failing), 503)
    if not server.ready:
        return json(Health("starting"), 503)
    engine = server.engine
    aside = [f"{name} is set aside: {damage}" for name, damage in engine.aside.items()]
    if aside or engine.damage:
        return json(Health("degraded", "; ".join(aside + engine.damage)))
    return json(Health("ok"))


ENDPOINTS = (
    Endpoint("GET", "/metrics", metrics, "read", "Numbers for Prometheus.",
             tag="server", kinds=("text/plain",)),
    Endpoint("GET", "/healthz", healthz, None, "Whether the process answers.",
             gives=Health, tag="server"),
    Endpoint("GET", "/readyz", readyz, None, "Whether labels can be taken.",
             gives=Health, tag="server"),
)  # fmt: skip
