"""The API against a model: whatever is asked in whatever order, the server does what dicts do."""

from __future__ import annotations

from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tests.serve.running import Running, label, put

MOST = 3
TASKS = st.sampled_from(["t1", "t2", "t3", "4", "ü/x"])
WORKERS = st.sampled_from(["ann", "bob", "cy", "di"])
LABELS = st.sampled_from(["x", "y", 1, True])


class Model(RuleBasedStateMachine):
    """Tasks close when they are full or closed by hand: votes, late labels and lists follow."""

    http: ClassVar[httpx.Client]
    number: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).number += 1
        self.name = f"m{self.number}"
        put(self.http, self.name, settle=None, max_labels=MOST)
        self.open: dict[str, dict[str, object]] = {}
        self.closed: dict[str, dict[str, Any]] = {}
        self.late = self.labels = 0

    def post(self, verb: str, body: object) -> httpx.Response:
        return self.http.post(f"/v1/projects/{self.name}/{verb}", json=body)

    def take(self, task: str, worker: str, said: object) -> None:
        """What the rules say of one label."""
        if task in self.closed:
            self.late += 1
            return
        answers = self.open.setdefault(task, {})
        self.labels += worker not in answers
        answers[worker] = said
        if len(answers) == MOST:
            del self.open[task]
            self.closed[task] = {}

    @rule(rows=st.lists(st.tuples(TASKS, WORKERS, LABELS), min_size=1, max_size=6))
    def observe(self, rows: list[tuple[str, str, object]]) -> None:
        if len({(task, worker) for task, worker, _ in rows}) < len(rows):
            return  # the order of rows on one task is that of `observe_many`, not ours to model
        sent = [label(*row) for row in rows]
        answer = self.post("labels", sent if len(sent) > 1 else sent[0]).json()
        before = self.late
        for row in rows:
            self.take(*row)
        assert answer["late"] == self.late - before
        assert answer["labels"] == len(rows) - answer["late"]
        for decision in answer["decisions"]:
            self.check(decision)

    def check(self, decision: dict[str, Any]) -> None:
        task = decision["task"]
        if task in self.open:
            assert (decision["votes"], decision["closed"]) == (len(self.open[task]), None)
        elif self.closed[task]:
            assert decision == self.closed[task], "a closed task stays as it is"
        else:
            assert (decision["votes"], decision["closed"]) == (MOST, "full")
            self.closed[task] = decision

    @rule(task=TASKS, worker=WORKERS)
    def retract(self, task: str, worker: str) -> None:
        answer = self.post("retract", {"task": task, "worker": worker})
        if task in self.closed:
            self.late += 1
            assert answer.status_code == 200
        elif worker in self.open.get(task, {}):
            del self.open[task][worker]
            self.labels -= 1
            assert answer.json()["votes"] == len(self.open[task])
        else:
            assert answer.status_code == 422

    @rule(task=TASKS)
    def close(self, task: str) -> None:
        answer = self.post("close", {"task": task})
        if task in self.open:
            del self.open[task]
            assert answer.json()["closed"] == "closed"
            self.closed[task] = answer.json()
        elif task in self.closed:
            self.check(answer.json())
        else:
            assert answer.status_code == 422

    @rule(tasks=st.lists(TASKS, max_size=3))
    def offer(self, tasks: list[str]) -> None:
        for task in tasks:
            if task not in self.closed:
                self.open.setdefault(task, {})
        assert self.post("offer", {"tasks": tasks}).json() == {"open": len(self.open)}

    @precondition(lambda self: self.closed)
    @rule()
    def look_at_closed(self) -> None:
        params = {"state": "closed"}
        found = self.http.get(f"/v1/projects/{self.name}/tasks", params=params).json()["tasks"]
        assert {one["task"] for one in found} == set(self.closed)

    @rule(task=TASKS)
    def look_at_a_task(self, task: str) -> None:
        found = self.http.get(f"/v1/projects/{self.name}/tasks/{task}")
        if task in self.open:
            votes = {one["worker"]: one["label"] for one in found.json()["labels"]}
            assert votes == self.open[task]
        else:
            assert found.status_code == (200 if task in self.closed else 404)

    @rule(worker=WORKERS)
    def next(self, worker: str) -> None:
        params = {"worker": worker}
        found = self.http.get(f"/v1/projects/{self.name}/next", params=params).json()["task"]
        free = {task for task, answers in self.open.items() if worker not in answers}
        assert (found in free) if free else found is None

    @invariant()
    def counts_agree(self) -> None:
        found = self.http.get(f"/v1/projects/{self.name}").json()
        tasks = found["tasks"]
        assert (tasks["open"], tasks["closed"]) == (len(self.open), len(self.closed))
        assert found["late"] == self.late
        assert found["labels"] - found["retracted"] == self.labels


@pytest.fixture
def model(http: httpx.Client, server: Running) -> type[Model]:
    Model.http = http
    return Model


def test_the_server_does_what_the_model_does(model: type[Model]) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        model,
        settings=settings(
            max_examples=25,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
