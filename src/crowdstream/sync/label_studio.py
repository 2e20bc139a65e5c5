"""Label Studio by its API: all annotations of a project, and predictions back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from crowdstream.decisions.decision import Decision
from crowdstream.errors import InputError
from crowdstream.labels.readers.answer import Answer, items, mapping
from crowdstream.labels.readers.label_studio import task_answers
from crowdstream.sync.tool_api import ToolApi, ToolError
from crowdstream.writers.label_studio import MODEL_VERSION, Control, prediction

PAGE = 200
"""Tasks of a page."""

GONE = 404

ADDRESS = re.compile(r"(?P<base>https?://.+?)/projects/(?P<project>\d+)(?:/.*)?")


class Pushed(NamedTuple):
    """Predictions that were made, changed, and already there."""

    made: int = 0
    changed: int = 0
    same: int = 0


class LabelStudio:
    """A project of Label Studio.

    Parameters
    ----------
    address
        The project's, as in the browser: ``https://labels.example.org/projects/3``.
    token
        A personal access token, or a legacy token.
    """

    name = "label-studio"

    def __init__(self, address: str, token: str) -> None:
        found = ADDRESS.fullmatch(address)
        if found is None:
            expected = "a project's address such as http://localhost:8080/projects/3"
            raise InputError("URL", expected, address)
        self.project = int(found["project"])
        base = found["base"]
        self.api = ToolApi(base, lambda: _authorization(base, token))

    def answers(self) -> Iterator[Answer]:
        """Every answer of every task."""
        for task in self.tasks():
            yield from task_answers(task)

    def tasks(self) -> Iterator[Mapping[str, object]]:
        """All tasks with their annotations and predictions, by pages."""
        page, seen, total = 1, 0, 1
        while seen < total:
            found = self._page(page)
            tasks, total = items(found.get("tasks")), int(str(found.get("total", 0)))
            if not tasks:
                return
            yield from map(mapping, tasks)
            page, seen = page + 1, seen + len(tasks)

    def _page(self, page: int) -> Mapping[str, object]:
        given = {"project": self.project, "fields": "all", "page": page, "page_size": PAGE}
        try:
            return mapping(self.api.get("/api/tasks", **given))
        except ToolError as error:
            if error.status == GONE and page > 1:  # tasks were deleted while pages were read
                return {}
            raise

    def push(self, decisions: Iterable[Decision], question: str) -> Pushed:
        """Write decisions as predictions: one per task, the confidence as its score."""
        wanted = {str(one.task): one for one in decisions}
        control = self._control(question)
        made = changed = same = 0
        for task in self.tasks():
            decision = wanted.get(str(task.get("id")))
            if decision is None or decision.label is None:
                continue
            body = prediction(decision.label, decision.confidence, control)
            ours = [one for one in map(mapping, items(task.get("predictions")))
                    if one.get("model_version") == MODEL_VERSION]  # fmt: skip
            if not ours:
                self.api.send("POST", "/api/predictions/", body | {"task": task.get("id")})
                made += 1
            elif any(_is(one, body) for one in ours):
                same += 1
            else:
                self.api.send("PATCH", f"/api/predictions/{ours[0].get('id')}/", body)
                changed += 1
        return Pushed(made, changed, same)

    def _control(self, question: str) -> Control:
        """The tags of a question, by the project's labelling configuration."""
        project = mapping(self.api.get(f"/api/projects/{self.project}"))
        control = mapping(mapping(project.get("parsed_label_config")).get(question))
        if control.get("type") != "Choices":
            raise ToolError(f"{self.api.url}: no Choices called {question!r} in this project")
        return Control(question, str(items(control.get("to_name"))[0]))


def _is(found: Mapping[str, object], wanted: Mapping[str, object]) -> bool:
    names = ("score", "result")
    return [found.get(name) for name in names] == [wanted.get(name) for name in names]


def _authorization(base: str, token: str) -> dict[str, str]:
    """The header of a token: legacy ones as they are, personal ones exchanged for a short one."""
    if token.count(".") != 2:
        return {"Authorization": f"Token {token}"}
    api = ToolApi(base, dict)
    try:
        given = mapping(api.send("POST", "/api/token/refresh/", {"refresh": token}))
    finally:
        api.close()
    return {"Authorization": f"Bearer {given.get('access')}"}
