"""`/metrics` for Prometheus, `/healthz` and `/readyz`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve.engine import Engine
from crowdstream.serve.readings import task_counts
from crowdstream.serve.server import Endpoint, json, server_of
from crowdstream.serve.wire import Health

STARTED = time.time()

HELP = {
    "labels_total": ("counter", "Labels taken."),
    "late_labels_total": ("counter", "Labels that came after their task had closed."),
    "closed_tasks_total": ("counter", "Tasks closed, by why."),
    "open_tasks": ("gauge", "Tasks that take labels."),
    "workers": ("gauge", "Workers met."),
    "alarms_total": ("counter", "Changes of workers noticed, as far as they are remembered."),
    "hook_requests_total": ("counter", "Requests of annotation tools, by what became of them."),
    "waiting_requests": ("gauge", "Requests that wait to be written."),
    "commits_total": ("counter", "Groups of requests written."),
    "writable": ("gauge", "Whether labels can be written."),
    "listeners": ("gauge", "Listeners to /events."),
    "responses_total": ("counter", "Responses, by status."),
    "resident_bytes": ("gauge", "Memory of the process."),
    "start_time_seconds": ("gauge", "When the server started."),
}


async def metrics(request: Request) -> Response:
    """Numbers for Prometheus."""
    server = server_of(request)
    found = await server.engine.ask(lambda: list(_of_projects(server.engine)))
    statuses: Counter[int] = request.app.state.statuses
    found += [("responses_total", f'status="{code}"', n) for code, n in sorted(statuses.items())]
    found += [
        ("waiting_requests", "", server.engine.waiting),
        ("commits_total", "", server.engine.groups),
        ("writable", "", 0 if server.engine.failing else 1),
        ("listeners", "", request.app.state.feeds.listeners),
        ("resident_bytes", "", _resident()),
        ("start_time_seconds", "", STARTED),
    ]
    lines = []
    for name, (kind, about) in HELP.items():
        lines += [f"# HELP crowdstream_{name} {about}", f"# TYPE crowdstream_{name} {kind}"]
        for found_name, labels, value in found:
            if found_name == name:
                shown = f"{{{labels}}}" if labels else ""
                lines.append(f"crowdstream_{name}{shown} {value}")
    return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")


def _of_projects(engine: Engine) -> Iterator[tuple[str, str, float]]:
    for name, project in engine.projects.items():
        label, counts = f'project="{name}"', project.stream.counts
        yield "labels_total", label, counts.labels
        yield "late_labels_total", label, counts.late + project.state.late
        yield "workers", label, len(project.stream.crowd._workers)
        yield "alarms_total", label, len(engine.readings(name).alarms)
        hooks = engine.readings(name).hooks
        for outcome in ("answered", "refused"):
            yield "hook_requests_total", f'{label},outcome="{outcome}"', getattr(hooks, outcome)
        tasks = msgspec.structs.asdict(task_counts(project))
        yield "open_tasks", label, tasks["open"]
        for why, number in tasks.items():
            if why not in ("open", "closed"):
                yield "closed_tasks_total", f'{label},why="{why}"', number


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
    return json(Health("ok")) if server.ready else json(Health("starting"), 503)


ENDPOINTS = (
    Endpoint("GET", "/metrics", metrics, "read", "Numbers for Prometheus.",
             tag="server", kinds=("text/plain",)),
    Endpoint("GET", "/healthz", healthz, None, "Whether the process answers.",
             gives=Health, tag="server"),
    Endpoint("GET", "/readyz", readyz, None, "Whether labels can be taken.",
             gives=Health, tag="server"),
)  # fmt: skip
