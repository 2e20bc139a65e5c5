"""Full disks, folders that cannot be written, locks, versions, backups."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crowdstream.serve import store as stores
from crowdstream.serve.checksums import checksum
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.schema import SCHEMA
from crowdstream.serve.store import Store
from crowdstream.serve.wire import LabelIn, Settings
from tests.serve.running import COMMAND, label, post, put, serving

SETTINGS = Settings(max_labels=3, settle=None)


async def observe(engine: Engine, *rows: tuple[str, str, str]) -> dict[str, Any]:
    labels = [LabelIn(*row, at=1_000.0) for row in rows]
    answer = await engine.write("p", lambda project, now: project.observe(labels, now))
    found: dict[str, Any] = msgspec.json.decode(answer)
    return found


def test_a_full_disk_keeps_nothing_says_so_and_still_answers_questions(tmp_path: Path) -> None:
    store = Store(tmp_path)

    async def run() -> None:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
        await observe(engine, ("t1", "ann", "x"))
        before = await engine.ask(lambda: engine.projects["p"].stream.to_bytes())
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count={pages}")
        many = [(f"task-{t}", "ann", "x" * 400) for t in range(2000)]
        for _ in range(2):
            with pytest.raises(ProblemError) as refused:
                await observe(engine, *many)
            assert refused.value.status == 507
        after = await engine.ask(lambda: engine.projects["p"].stream.to_bytes())
        assert before == after, "nothing of it is remembered"
        assert "full" in engine.failing
        assert (await engine.ask(lambda: engine.readings("p").overview())).labels == 1
        store._db.execute("PRAGMA max_page_count=1000000")
        answer = await observe(engine, ("t1", "bob", "x"))
        assert answer["decisions"][0]["votes"] == 2
        assert engine.failing == ""
        await engine.stop()

    try:
        asyncio.run(run())
    finally:
        store.close()


def test_an_answer_that_was_not_written_is_not_given_again(tmp_path: Path) -> None:
    store = Store(tmp_path)

    async def run() -> None:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
        store._db.execute("PRAGMA query_only=1")
        rows = [LabelIn("t1", "ann", "x")]

        def send() -> Any:
            return engine.write("p", lambda project, now: project.observe(rows, now), key=b"k")

        found = await asyncio.gather(send(), send(), return_exceptions=True)
        assert [type(one) for one in found] == [ProblemError, ProblemError]
        store._db.execute("PRAGMA query_only=0")
        assert msgspec.json.decode(await send())["labels"] == 1
        assert engine.projects["p"].stream.counts.labels == 1
        await engine.stop()

    try:
        asyncio.run(run())
    finally:
        store.close()


def test_a_folder_that_has_become_read_only_is_said_to_be(tmp_path: Path) -> None:
    store = Store(tmp_path)

    async def run() -> None:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
        store._db.execute("PRAGMA query_only=1")
        with pytest.raises(ProblemError, match="readonly") as refused:
            await observe(engine, ("t1", "ann", "x"))
        assert refused.value.status == 503
        with pytest.raises(ProblemError, match="readonly"):
            await engine.ask(lambda: engine.create("q", SETTINGS, 0.0))
        store._db.execute("PRAGMA query_only=0")
        assert (await observe(engine, ("t1", "ann", "x")))["labels"] == 1
        await engine.stop()

    try:
        asyncio.run(run())
    finally:
        store.close()


def test_a_limit_on_file_size_is_a_full_disk(tmp_path: Path) -> None:
    script = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))\n"
        "from crowdstream.cli import main; main()"
    )
    command = (sys.executable, "-c", script)
    assert resource.RLIMIT_FSIZE is not None
    with serving(tmp_path / "data", command=command) as running, running.http() as http:
        put(http, "p", settle=None, max_labels=3)
        taken, status = 0, 200
        for number in range(400):
            rows = [label(f"t{number}-{i}", "ann", "x" * 100) for i in range(20)]
            answer = http.post("/v1/projects/p/labels", json=rows)
            status = answer.status_code
            if status != 200:
                break
            taken += 20
        assert status in (503, 507), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "retry-after" in answer.headers
        assert http.get("/v1/projects/p").json()["labels"] == taken
        assert http.get("/readyz").status_code == 503
        assert http.get("/healthz").status_code == 200
        running.kill()
    with serving(tmp_path / "data") as running, running.http() as http:
        assert http.get("/v1/projects/p").json()["labels"] == taken
        post(http, "p", label("more", "ann", "x"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    _refused(folder, "cannot be written")


def test_a_path_that_is_no_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_text("x")
    _refused(file, "cannot be written")
    _refused(Path("/proc/nowhere/data"), "cannot be written")


def test_a_database_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / stores.DATABASE).write_text("this is no database, it is a long text" * 100)
    _refused(tmp_path, stores.DATABASE)


def test_one_server_a_folder(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        _refused(tmp_path / "data", f"in use by another server (process {running.process.pid})")
        running.kill()
    with serving(tmp_path / "data"):
        pass


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as running:
        _refused(tmp_path / "other", "--port", "--port", str(running.port))


def _refused(folder: Path, why: str, *options: str) -> None:
    found = subprocess.run(
        [*COMMAND, "serve", "--data", str(folder), "--port", "0", *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 2, found.stderr
    assert why in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(("step", "said"), [(1, "a later version"), (-1, "an earlier version")])
def test_a_folder_of_another_version_is_refused(tmp_path: Path, step: int, said: str) -> None:
    Store(tmp_path).close()
    db = sqlite3.connect(tmp_path / stores.DATABASE)
    db.execute(f"PRAGMA user_version={SCHEMA + step}")
    db.close()
    _refused(tmp_path, said)


def test_a_snapshot_that_cannot_be_read_gives_way_to_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        put(http, "p", max_labels=3)
        rows = [label(f"t{t}", w, "x") for t in range(20) for w in ("a", "b", "c")]
        post(http, "p", rows)
        running.stop()
    db = sqlite3.connect(folder / stores.DATABASE)
    assert db.execute("SELECT count(*) FROM snapshots").fetchone()[0] >= 1
    query = "SELECT project, seq, part, data FROM snapshot_parts WHERE part = 0"
    for project, seq, part, data in db.execute(query).fetchall():
        other = b"from another version" + data
        signed = checksum(project, seq, part, other)
        given = other, signed, seq
        db.execute("UPDATE snapshot_parts SET data = ?, checksum = ? WHERE seq = ?", given)
    db.commit()
    db.close()
    with serving(folder) as running, running.http() as http:
        found = http.get("/v1/projects/p").json()
        assert (found["labels"], found["tasks"]["closed"]) == (60, 20)


def test_a_backup_of_a_running_server_is_a_server_of_its_own(tmp_path: Path) -> None:
    folder, copy = tmp_path / "data", tmp_path / "copy"
    with serving(folder) as running, running.http() as http:
        put(http, "p", max_labels=3)
        post(http, "p", [label(f"t{t}", w, "x") for t in range(20) for w in "abc"])
        token = running.token
        for number in range(3):
            target = tmp_path / f"copy{number}"
            subprocess.run([*COMMAND, "backup", str(folder), str(target)], check=True)
            post(http, "p", label(f"after-{number}", "a", "x"))
        shutil.copytree(tmp_path / "copy0", copy)
        again = subprocess.run([*COMMAND, "backup", str(folder), str(copy)], capture_output=True)
        assert again.returncode == 2
    with serving(copy) as restored, restored.http(token) as http:
        assert http.get("/v1/projects/p").json()["labels"] == 60
        assert http.get("/v1/projects/p/tasks/t3").json()["closed"] == "full"
        late = post(http, "p", label("t3", "z", "y"))
        assert late["late"] == 1


def test_tasks_that_closed_long_ago_are_still_known_to_be_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crowdstream.serve.project.REMEMBER", 20)
    monkeypatch.setattr("crowdstream.serve.store.MOST_CLOSED", 7)
    monkeypatch.setattr("crowdstream.serve.engine.MOST_CLOSED", 7)
    names = [f"t{number}" for number in range(100)]

    async def run(store: Store, *, first: bool) -> None:
        engine = Engine(store)
        engine.load()
        engine.start(asyncio.get_running_loop())
        if first:
            await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
            for number in range(0, 100, 10):
                part = names[number : number + 10]
                await observe(engine, *((name, w, "x") for name in part for w in "abc"))
        late = await observe(engine, *((name, "di", "y") for name in names))
        assert (late["labels"], late["late"]) == (0, 100)
        assert {one["task"] for one in late["decisions"]} == set(names)
        assert {(one["label"], one["closed"]) for one in late["decisions"]} == {("x", "full")}
        assert await engine.ask(lambda: engine.projects["p"].stream.n_open) == 0
        await engine.stop()

    for first in (True, False):
        store = Store(tmp_path)
        try:
            asyncio.run(run(store, first=first))
        finally:
            store.close()


def test_labels_of_closed_tasks_go_when_they_are_not_to_be_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for _ in range(2):
        with serving(folder, "--keep-labels", "0") as running, running.http() as http:
            put(http, "p", max_labels=3, settle=None)
            post(http, "p", [label("t1", w, "x") for w in "abc"])
            post(http, "p", label("open", "a", "x"))
            running.stop()
    db = sqlite3.connect(folder / stores.DATABASE)
    left = db.execute("SELECT count(*) FROM log").fetchone()[0]
    db.close()
    assert left <= 2, "what the snapshots have is gone from the log"
    with serving(folder, "--keep-labels", "0") as running, running.http() as http:
        task = http.get("/v1/projects/p/tasks/t1").json()
        assert (task["closed"], task["votes"]) == ("full", 3)
        still = http.get("/v1/projects/p/tasks/open").json()
        assert [vote["worker"] for vote in still["labels"]] == ["a"]
