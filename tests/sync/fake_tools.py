"""Label Studio and Argilla as far as a sync asks them, on loopback; they lose webhooks."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.serve import tools

KEY = "a.key.of-the-tool"
"""With two dots: a personal access token of Label Studio."""

LEGACY = "0123456789abcdef"
LOST = 1 / 3


class FakeTool:
    """What people do in a tool; each is told to the hook, unless it gets lost.

    ``now`` are the answers as they are, by id.
    """

    def __init__(self, seed: int, tasks: int = 8, workers: int = 6) -> None:
        self.rng = random.Random(seed)
        self.tasks, self.workers = range(1, tasks + 1), range(1, workers + 1)
        self.now: dict[int, dict[str, Any]] = {}
        self.next = 1
        self.clock = float(int(time.time())) - 10_000.0
        self.hook: Callable[[str, dict[str, Any]], object] = lambda kind, answer: None
        self.told = self.lost = 0

    def do_something(self) -> None:
        """Somebody answers, changes an answer, skips, or deletes one."""
        what = self.rng.random()
        self.clock += 1.0
        if what < 0.6 or not self.now:
            task, worker = self.rng.choice(self.tasks), self.rng.choice(self.workers)
            answer: dict[str, Any] = {"id": self.next, "task": task, "worker": worker}
            self.next += 1
            kind = "created"
        else:
            answer = self.now[self.rng.choice(list(self.now))]
            kind = "updated" if what < 0.85 else "deleted"
        label = self.rng.choice(["good", "bad", "<i>", None])
        answer = answer | {"label": label, "at": self.clock}
        if kind == "deleted":
            del self.now[answer["id"]]
        else:
            self.now[answer["id"]] = answer
        self.told += 1
        if self.rng.random() < LOST:
            self.lost += 1
        else:
            self.hook(kind, answer)

    def votes(self) -> dict[str, dict[str, str]]:
        """Who says what of each task now: the latest answer of each worker."""
        latest: dict[tuple[str, str], str | None] = {}
        for one in sorted(self.now.values(), key=lambda one: one["at"]):
            latest[self.task(one), self.worker(one)] = one["label"]
        found: dict[str, dict[str, str]] = {}
        for (task, worker), label in latest.items():
            if label is not None:
                found.setdefault(task, {})[worker] = label
        return found

    def task(self, answer: dict[str, Any]) -> str:
        return str(answer["task"])

    def worker(self, answer: dict[str, Any]) -> str:
        return str(answer["worker"])

    def id(self, answer: dict[str, Any]) -> str:
        return str(answer["id"])


class FakeLabelStudio(FakeTool):
    """A project 3 of Label Studio, with one question, mood."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.predictions: dict[int, dict[str, Any]] = {}
        self.skipped_page = False
        self.access = "short-1"
        self.hiccups: list[int] = []
        """Statuses of its next answers."""

    def annotation(self, one: dict[str, Any]) -> dict[str, Any]:
        choices = {} if one["label"] is None else {"mood": one["label"]}
        found = tools.annotation(one["id"], one["task"], one["worker"], **choices)
        cancelled = one["label"] is None
        return found | {"updated_at": tools.moment(one["at"]), "was_cancelled": cancelled}

    def send(self, http: httpx.Client, project: str) -> Callable[[str, dict[str, Any]], object]:
        """The hook."""

        def hook(kind: str, one: dict[str, Any]) -> object:
            if kind == "deleted":
                gone = [{"id": one["id"]}]
                return tools.label_studio(http, project, "ANNOTATIONS_DELETED", gone)
            action = f"ANNOTATION_{kind.upper()}"
            return tools.label_studio(http, project, action, self.annotation(one))

        return hook

    def app(self) -> Starlette:
        async def refresh(request: Request) -> Response:
            good = (await request.json())["refresh"] == KEY
            return JSONResponse({"access": self.access} if good else {}, 200 if good else 401)

        async def tasks(request: Request) -> Response:
            if self.hiccups:
                self.access = "short-2"  # what let in before does no longer
                return JSONResponse({}, self.hiccups.pop())
            if not self.lets_in(request):
                return JSONResponse({}, 401)
            assert request.query_params["project"] == "3"
            assert request.query_params["fields"] == "all"
            page = int(request.query_params["page"])
            shown = [self.shown(task) for task in self.tasks if task % 2 == page % 2]
            if page > 2:
                return JSONResponse({"detail": "Invalid page."}, 404)
            if self.skipped_page and page == 2:
                self.skipped_page, shown = False, shown[1:]
            return JSONResponse({"tasks": shown, "total": len(self.tasks)})

        async def project(request: Request) -> Response:
            control = {"type": "Choices", "to_name": ["text"]}
            return JSONResponse({"id": 3, "parsed_label_config": {"mood": control}})

        async def predict(request: Request) -> Response:
            given = await request.json()
            number = len(self.predictions) + 1
            self.predictions[number] = given | {"id": number}
            return JSONResponse(self.predictions[number], 201)

        async def repredict(request: Request) -> Response:
            number = request.path_params["id"]
            self.predictions[number] |= await request.json()
            return JSONResponse(self.predictions[number])

        return Starlette(routes=[
            Route("/api/token/refresh/", refresh, methods=["POST"]), Route("/api/tasks", tasks),
            Route("/api/projects/3", project),
            Route("/api/predictions/", predict, methods=["POST"]),
            Route("/api/predictions/{id:int}/", repredict, methods=["PATCH"]),
        ])  # fmt: skip

    def lets_in(self, request: Request) -> bool:
        return request.headers["authorization"] in (f"Bearer {self.access}", f"Token {LEGACY}")

    def shown(self, task: int) -> dict[str, Any]:
        here = [one for one in self.now.values() if one["task"] == task]
        predictions = [one for one in self.predictions.values() if one["task"] == task]
        annotations = [self.annotation(one) for one in here]
        return {"id": task, "annotations": annotations, "predictions": predictions}


class FakeArgilla(FakeTool):
    """A dataset ``abc-1`` of Argilla, with one question, mood."""

    def task(self, answer: dict[str, Any]) -> str:
        return f"rec-{answer['task']}"

    def worker(self, answer: dict[str, Any]) -> str:
        return f"user-{answer['worker']}"

    def id(self, answer: dict[str, Any]) -> str:
        return f"resp-{answer['id']}"

    def send(self, http: httpx.Client, project: str) -> Callable[[str, dict[str, Any]], object]:
        """The hook."""

        def hook(kind: str, one: dict[str, Any]) -> object:
            given = self.id(one), self.task(one), self.worker(one), one["at"]
            data = tools.response(*given, mood=one["label"] or "draft")
            data["status"] = "draft" if one["label"] is None else "submitted"
            if kind == "deleted":
                data = {"id": self.id(one)}
            return tools.argilla(http, project, f"response.{kind}", data)

        return hook

    def app(self) -> Starlette:
        async def records(request: Request) -> Response:
            if request.headers["x-argilla-api-key"] != KEY:
                return JSONResponse({}, 401)
            assert request.query_params["include"] == "responses"
            first = int(request.query_params["offset"])
            shown = [self.shown(task) for task in self.tasks[first : first + 3]]
            return JSONResponse({"items": shown, "total": len(self.tasks)})

        return Starlette(routes=[Route("/api/v1/datasets/abc-1/records", records)])

    def shown(self, task: int) -> dict[str, Any]:
        responses = [
            {"id": self.id(one), "user_id": self.worker(one), "updated_at": tools.moment(one["at"]),
             "values": {"mood": {"value": one["label"] or "draft"}},
             "status": "draft" if one["label"] is None else "submitted"}
            for one in self.now.values() if one["task"] == task
        ]  # fmt: skip
        return {"id": f"rec-{task}", "responses": responses}


@contextlib.contextmanager
def listening(app: Starlette) -> Iterator[str]:
    """An application on a free port of loopback; gives its address."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [place]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{place.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)
