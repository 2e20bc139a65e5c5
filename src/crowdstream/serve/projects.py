"""Routes of projects: make one, look at one, and the verbs of its stream other than labels."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import Response

from crowdstream.serve import forgetting
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import MOST_LABELS, Project
from crowdstream.serve.server import (
    PAGED,
    Endpoint,
    Query,
    body_of,
    json,
    make_cursor,
    one_of,
    page_size,
    read_cursor,
    server_of,
    token_of,
    write,
)
from crowdstream.serve.tokens import PROJECT
from crowdstream.serve.tool_table import TOOLS
from crowdstream.serve.wire import (
    CloseIn,
    DecisionOut,
    Deleted,
    GoldIn,
    LabelIn,
    LabelsOut,
    NextOut,
    OfferIn,
    OfferOut,
    Overview,
    ProjectsOut,
    RetractIn,
    Settings,
    text,
)

MOST_PROJECTS = 1000
"""Projects of a server: each has a stream of its own in memory."""


async def put_project(request: Request) -> Response:
    """Make a project, or change its settings."""
    name, engine = request.path_params["project"], server_of(request).engine
    if not PROJECT.fullmatch(name):
        expected = "1 to 64 letters, digits, . _ and -, a letter or digit first"
        raise ProblemError(422, f"project: expected {expected}", path="project", expected=expected)
    settings, body = await body_of(request, Settings)

    def create() -> bool:
        if name in engine.projects:
            return False
        if name in engine.aside:
            raise engine.missing(name)
        if len(engine.projects) >= MOST_PROJECTS:
            raise ProblemError(409, f"there are {MOST_PROJECTS:,} projects already")
        engine.create(name, settings, time.time())
        return True

    created = await engine.ask(create)
    if not created:
        table = server_of(request).store.tools

        def change(project: Project, now: float) -> None:
            told = (table.question(project.id, tool) for tool in TOOLS)
            project.change(settings, now, told=next(filter(None, told), ""))

        await write(request, change, body)
    overview = await engine.look(name, lambda: engine.readings(name).overview())
    return json(overview, 201 if created else 200)


async def list_projects(request: Request) -> Response:
    """All projects that the token may read, in the order of their names."""
    token, engine, size = token_of(request), server_of(request).engine, page_size(request)
    cursor = request.query_params.get("cursor")
    after = read_cursor(cursor, (str,))[0] if cursor is not None else ""

    every = await engine.ask(lambda: sorted(engine.projects))
    names = [name for name in every if name > after and token.may("read", name)]
    found = await engine.overviews(names[:size])
    return json(ProjectsOut(found, make_cursor(names[size - 1]) if len(names) > size else None))


async def get_project(request: Request) -> Response:
    """A project in numbers."""
    name, engine = request.path_params["project"], server_of(request).engine
    return json(await engine.look(name, lambda: engine.readings(name).overview()))


async def delete_project(request: Request) -> Response:
    """Delete a project and all that is in it."""
    engine, name = server_of(request).engine, request.path_params["project"]
    return json(await forgetting.forget_project(engine, name))


async def retract(request: Request) -> Response:
    """Take a worker's label on an open task back."""
    given, body = await body_of(request, RetractIn)

    def apply(project: Project, now: float) -> object:
        return project.retract(text(given.task), text(given.worker), now)

    return await write(request, apply, body)


async def gold(request: Request) -> Response:
    """Tell what is true of a task: its workers are judged by it when it closes."""
    given, body = await body_of(request, GoldIn)

    def apply(project: Project, now: float) -> object:
        return project.gold(text(given.task), given.label, now)

    return await write(request, apply, body)


async def close(request: Request) -> Response:
    """Close a task by hand: its decision is final."""
    given, body = await body_of(request, CloseIn)

    def apply(project: Project, now: float) -> object:
        return project.close(text(given.task), now)

    return await write(request, apply, body)


async def offer(request: Request) -> Response:
    """Open tasks before they have a label, so that `next` can choose them."""
    given, body = await body_of(request, OfferIn)

    def apply(project: Project, now: float) -> object:
        return OfferOut(project.offer([text(task) for task in given.tasks], now))

    return await write(request, apply, body, weight=len(given.tasks) or 1)


async def next_task(request: Request) -> Response:
    """The open task on which this worker's label would tell most."""
    worker = request.query_params.get("worker", "")
    if not worker:
        raise ProblemError(422, "worker: expected a name", path="?worker", expected="a name")
    name, engine = request.path_params["project"], server_of(request).engine

    def read() -> NextOut:
        task = engine.project(name).stream.next_task(worker)
        return NextOut(None if task is None else str(task))

    return json(await engine.look(name, read))


async def labels_elsewhere(_: Request) -> Response:
    """Take labels; see `labels`, which does it before routes are looked at."""
    raise AssertionError("labels are taken before routes")


_P = "/v1/projects/{project}"
_WHICH = Query("decisions", one_of("all", "closed", "none"), "Which decisions to answer.", "all")

_WORKER = Query("worker", {"type": "string", "minLength": 1}, "Who is to be asked.", ...)

ENDPOINTS = (
    Endpoint("GET", "/v1/projects", list_projects, "read", "All projects.",
             gives=ProjectsOut, query=PAGED, tag="projects"),
    Endpoint("PUT", _P, put_project, "admin", "Make a project, or change its settings.",
             takes=Settings, gives=Overview, tag="projects"),
    Endpoint("GET", _P, get_project, "read", "A project in numbers.",
             gives=Overview, tag="projects"),
    Endpoint("DELETE", _P, delete_project, "admin", "Delete a project and all that is in it.",
             gives=Deleted, tag="projects"),
    Endpoint("POST", f"{_P}/labels", labels_elsewhere, "label",
             f"Take a label, an array of them, or lines of JSON (at most {MOST_LABELS:,}): all or "
             "none. The same label again changes nothing, another one replaces the first.",
             takes=LabelIn | list[LabelIn], gives=LabelsOut, query=(_WHICH,), tag="labels",
             operation="labels"),
    Endpoint("POST", f"{_P}/retract", retract, "write", "Take a label back.",
             takes=RetractIn, gives=DecisionOut, tag="labels"),
    Endpoint("POST", f"{_P}/gold", gold, "write", "Tell what is true of a task.",
             audited=True,
             takes=GoldIn, gives=DecisionOut, tag="labels"),
    Endpoint("POST", f"{_P}/close", close, "write", "Close a task by hand.",
             audited=True,
             takes=CloseIn, gives=DecisionOut, tag="labels"),
    Endpoint("POST", f"{_P}/offer", offer, "write", "Open tasks before they have a label.",
             takes=OfferIn, gives=OfferOut, tag="labels"),
    Endpoint("GET", f"{_P}/next", next_task, "read",
             "The open task on which this worker's label would tell most.",
             gives=NextOut, query=(_WORKER,), tag="tasks"),
)  # fmt: skip
