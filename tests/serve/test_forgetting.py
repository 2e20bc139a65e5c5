"""Deleted labels are gone: decisions are those of the labels left, and no file has them."""

from __future__ import annotations

import io
import random
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import httpx
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.client import Client
from crowdstream.serve.store import DATABASE
from tests.serve.running import COMMAND, label, post, put, serving, start

SECRET = "ann-1234-secret"


def rows(seed: int, tasks: int = 120) -> list[dict[str, object]]:
    """Labels of a crowd in which one who is to go says much."""
    chance = random.Random(seed)
    workers = [SECRET, *(f"w{i}" for i in range(7))]
    found = []
    for task in range(tasks):
        truth = chance.choice("xyz")
        for worker in chance.sample(workers, 5):
            said = truth if chance.random() < 0.75 else chance.choice("xyz")
            found.append(label(f"t{task}", worker, said, at=1000.0 + task))
    return found


def send(http: httpx.Client, project: str, labels: list[dict[str, object]]) -> None:
    put(http, project, max_labels=4)
    for first in range(0, len(labels), 7):
        post(http, project, labels[first : first + 7])


def decided(http: httpx.Client, project: str) -> object:
    time.sleep(1.0)  # tables are kept a moment
    export = http.get(f"/v1/projects/{project}/export/decisions?tasks=all&format=ndjson").text
    crowd = http.get(f"/v1/projects/{project}/workers").json()["workers"]
    overview = http.get(f"/v1/projects/{project}").json()
    numbers = {k: overview[k] for k in ("labels", "late", "workers", "tasks", "expected_errors")}
    return export, crowd, numbers


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_worker_who_is_deleted_leaves_nothing_behind(tmp_path: Path) -> None:
    labels = rows(1)
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        send(http, "p", labels)
        http.post("/v1/projects/p/gold", json={"task": "t3", "label": "x"})
        running.stop()
    with serving(folder) as running, running.http() as http:
        assert SECRET.encode() in everything(folder)
        answer = http.delete(f"/v1/projects/p/workers/{SECRET}")
        assert answer.status_code == 200, answer.text
        assert answer.json()["deleted"] == sum(one["worker"] == SECRET for one in labels)
        assert SECRET.encode() not in everything(folder)
        assert http.get(f"/v1/projects/p/workers/{SECRET}").status_code == 404
        assert http.delete(f"/v1/projects/p/workers/{SECRET}").status_code == 404
        put(http, "never", max_labels=4)
        # In the same order and parts, without them.
        for first in range(0, len(labels), 7):
            part = [one for one in labels[first : first + 7] if one["worker"] != SECRET]
            post(http, "never", part)
        http.post("/v1/projects/never/gold", json={"task": "t3", "label": "x"})
        expected = decided(http, "never")
        assert decided(http, "p") == expected
        running.kill()
    with serving(folder) as running, running.http() as http:
        assert decided(http, "p") == expected
        post(http, "p", label("new", "w1", "x"))
        assert running.stop() == 0
        assert SECRET.encode() not in everything(folder)
    checked = subprocess.run(
        [*COMMAND, "check", str(folder)], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_task_and_a_project_are_deleted(tmp_path: Path) -> None:
    labels = rows(2, 20)
    with serving(tmp_path / "data") as running:
        with running.http() as http:
            send(http, "p", labels)
            send(http, "q", [label("other", "w1", "x")])
        with Client(running.url, running.token, "p") as client:
            assert client.delete_task("t7").deleted == 5
            with pytest.raises(cs.CrowdstreamError):
                client.task("t7")
            assert client.overview().labels + client.overview().late == 95
            assert client.delete().deleted > 0
            with pytest.raises(cs.CrowdstreamError):
                client.overview()
        with running.http() as http:
            assert [one["project"] for one in http.get("/v1/projects").json()["projects"]] == ["q"]
            assert b"t13" not in everything(running.folder)
            put(http, "p", max_labels=3)
            assert http.get("/v1/projects/p").json()["labels"] == 0


def test_only_an_admin_of_the_project_deletes(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running, running.http() as http:
        send(http, "p", rows(3, 3))
        made = subprocess.run(
            [*COMMAND, "token", "create", "--data", str(running.folder),
             "--scope", "read", "--scope", "write"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        with running.http(made.stdout.split()[-1]) as other:
            for path in ("", "/tasks/t1", "/workers/w1"):
                assert other.delete(f"/v1/projects/p{path}").status_code == 403
        assert http.get("/v1/projects/p").json()["workers"] > 1


@pytest.mark.parametrize("moment", ["begin_anew", "commit", "exchange", "sweep", "truncate"])
def test_a_kill_leaves_it_as_it_was_or_as_it_is_to_be(tmp_path: Path, moment: str) -> None:
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        send(http, "p", rows(4))
        running.stop()
    with serving(folder) as running, running.http() as http:
        before = decided(http, "p")  # nothing is kept from earlier looks
        running.stop()
    code = (
        "import os; from crowdstream.serve import store\n"
        "from crowdstream.cli import main\n"
        f"real = store.Store.{moment}\n"
        "begun = []\n"
        "anew = store.Store.begin_anew\n"
        "def begin(self): begun.append(1); return anew(self)\n"
        "store.Store.begin_anew = begin\n"
        "def kill(self, *given, **more):\n"
        "    found = real(self, *given, **more)\n"
        "    if begun: os.kill(os.getpid(), 9)\n"
        "    return found\n"
        + (
            "def kill(self): real(self); os.kill(os.getpid(), 9)\n"
            if moment == "begin_anew"
            else ""
        )
        + f"store.Store.{moment} = kill\n"
        "main()\n"
    )
    running = start(folder, command=(sys.executable, "-c", code))
    with running.http() as http, pytest.raises(httpx.TransportError):
        http.delete(f"/v1/projects/p/workers/{SECRET}")
    running.process.wait(10)
    with serving(folder) as running, running.http() as http:
        done = decided(http, "p")
        is_done = moment in ("exchange", "sweep", "truncate")
        assert (done != before) == is_done
        answer = http.delete(f"/v1/projects/p/workers/{SECRET}")
        assert answer.status_code == (404 if is_done else 200)
        assert running.stop() == 0
    assert SECRET.encode() not in everything(folder)
    db = sqlite3.connect(folder / DATABASE)
    assert db.execute("SELECT count(*) FROM gone").fetchone()[0] == 0
    assert db.execute("SELECT count(DISTINCT project) FROM log").fetchone()[0] == 1
    db.close()


def test_labels_that_come_meanwhile_are_not_lost(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        send(http, "p", rows(5, 400))
        before = http.get("/v1/projects/p").json()
        done: list[int] = []

        def delete() -> None:
            with running.http() as other:
                done.append(other.delete(f"/v1/projects/p/workers/{SECRET}").status_code)

        thread = threading.Thread(target=delete)
        thread.start()
        sent = 0
        while thread.is_alive() or sent < 5:
            post(http, "p", label(f"new{sent}", "w1", "x"))
            sent += 1
        thread.join()
        assert done == [200]
        after = http.get("/v1/projects/p").json()
        gone = sum(one["worker"] == SECRET for one in rows(5, 400))
        total = before["labels"] + before["late"] - gone + sent
        assert after["labels"] + after["late"] == total


def test_what_was_not_kept_cannot_be_unlearnt(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder, "--keep-labels", "1s") as running, running.http() as http:
        send(http, "p", rows(6, 30))
        time.sleep(1.5)
        running.stop()  # which saves it, and drops what is older
    with serving(folder) as running, running.http() as http:
        answer = http.delete(f"/v1/projects/p/workers/{SECRET}")
        assert answer.status_code == 409
        assert "--keep-labels" in answer.json()["detail"]
        assert http.delete("/v1/projects/p").status_code == 200
    assert SECRET.encode() not in everything(folder)


def test_labels_are_exported_as_they_came(tmp_path: Path) -> None:
    labels = rows(7, 30)
    with serving(tmp_path / "data") as running, running.http() as http:
        send(http, "p", labels)
        http.post("/v1/projects/p/gold", json={"task": "open", "label": "x"})
        path = "/v1/projects/p/export/labels"
        table = pl.read_parquet(io.BytesIO(http.get(f"{path}?format=parquet").content))
        assert table.columns == ["task", "worker", "label", "at", "event", "late"]
        said = table.filter(pl.col("event") == "label")
        key = ("task", "worker", "label")
        assert sorted(said.select(key).rows()) == sorted(
            tuple(one[k] for k in key) for one in labels
        )
        assert table.filter(pl.col("event") == "gold").select("task", "label").rows() == [
            ("open", "x")
        ]
        csv = pl.read_csv(io.StringIO(http.get(path).text))
        assert csv.height == table.height
        lines = pl.read_ndjson(io.StringIO(http.get(f"{path}?format=ndjson").text))
        assert lines["task"].to_list() == table["task"].to_list()
        put(http, "empty")
        assert http.get("/v1/projects/empty/export/labels").text.startswith("task,worker,label")
