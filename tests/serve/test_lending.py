"""A project whose work takes long is worked on beside: nobody waits, all stays in order."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crowdstream.serve import housekeeping, jobs
from crowdstream.serve import store as stores
from crowdstream.serve.engine import Engine
from crowdstream.serve.jobs import Job
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.schema import StoreError
from crowdstream.serve.store import Store
from crowdstream.serve.wire import LabelIn, Settings

PATIENCE = 20.0


@pytest.fixture(autouse=True)
def _lend_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "CELLS", 0)


def run(folder: Path, what: Callable[[Engine], Awaitable[None]], *names: str) -> None:
    """An engine with some projects, for as long as something takes."""
    store = Store(folder)

    async def main() -> None:
        engine = Engine(store)
        engine.load()
        engine.start(asyncio.get_running_loop())
        for name in names:
            await engine.ask(partial(engine.create, name, Settings(max_labels=9), 0.0))
        try:
            await asyncio.wait_for(what(engine), PATIENCE)
        finally:
            await engine.stop()

    try:
        asyncio.run(main())
    finally:
        store.close()


def observe(
    engine: Engine, project: str, task: str, worker: str, key: bytes = b""
) -> asyncio.Future[Any]:
    label = LabelIn(task, worker, "x")

    def apply(to: Project, now: float) -> object:
        return to.observe([label], now, single=True)

    return engine.done(Job(print, project, apply, key=key, said=b"it", label=label))


def test_nobody_waits_for_a_question_about_another_project(tmp_path: Path) -> None:
    async def what(engine: Engine) -> None:
        goes_on = threading.Event()
        slow = asyncio.ensure_future(engine.look("big", lambda: goes_on.wait(PATIENCE)))
        await asyncio.sleep(0.05)
        for number in range(20):
            await observe(engine, "small", f"t{number}", "ann")
        own = observe(engine, "big", "t", "ann")
        await asyncio.sleep(0.05)
        assert not slow.done()
        assert not own.done(), "a project is in one hand at a time"
        goes_on.set()
        assert await slow is True
        assert msgspec.json.decode(await own)["labels"] == 1

    run(tmp_path, what, "big", "small")


def test_nobody_waits_for_labels_of_another_project(tmp_path: Path) -> None:
    async def what(engine: Engine) -> None:
        goes_on = threading.Event()
        slow = asyncio.ensure_future(engine.write("big", lambda *_: goes_on.wait(PATIENCE)))
        await asyncio.sleep(0.05)
        for number in range(20):
            await observe(engine, "small", f"t{number}", "ann")
        assert not slow.done()
        goes_on.set()
        await slow

    run(tmp_path, what, "big", "small")


def test_what_waits_is_done_in_order_and_questions_see_what_was_acknowledged(
    tmp_path: Path,
) -> None:
    async def what(engine: Engine) -> None:
        counts: list[int] = []

        def count() -> None:
            counts.append(engine.project("p").stream.counts.labels)

        todo: list[Awaitable[Any]] = []
        for number in range(200):
            todo.append(observe(engine, "p", f"t{number % 9}", f"w{number}"))
            if number % 10 == 0:
                todo.append(engine.look("p", count))
        answers = await asyncio.gather(*todo)
        sent = [one for one in answers if isinstance(one, bytes)]
        assert len(sent) == 200
        assert counts == sorted(counts)
        await observe(engine, "p", "last", "ann")
        await engine.look("p", count)
        taken = sum(msgspec.json.decode(one)["labels"] for one in sent)
        assert counts[-1] == taken + 1
        for number in range(9):
            stream = engine.project("p").stream
            votes = await engine.look("p", partial(stream.decision, f"t{number}"))
            assert votes.votes == 9, "the first nine came, in their order"

    run(tmp_path, what, "p")
    seen: list[int] = []

    async def again(engine: Engine) -> None:
        seen.append(engine.project("p").stream.counts.labels)

    run(tmp_path, again)
    assert seen == [82], "all that was acknowledged is there after a start"


def test_a_key_that_comes_again_while_the_first_is_worked_on_changes_nothing(
    tmp_path: Path,
) -> None:
    async def what(engine: Engine) -> None:
        first, second = (observe(engine, "p", "t", "ann", key=b"k") for _ in range(2))
        assert await first == await second
        assert engine.projects["p"].stream.counts.repeated == 0

    run(tmp_path, what, "p")


def test_what_cannot_be_written_is_forgotten_though_it_was_done_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def what(engine: Engine) -> None:
        await observe(engine, "p", "t", "ann")

        def full(*_: object) -> None:
            raise StoreError("database or disk is full")

        with monkeypatch.context() as broken:
            broken.setattr(engine.store, "commit", full)
            with pytest.raises(ProblemError) as problem:
                await observe(engine, "p", "t", "bob")
            assert problem.value.status == 507
        labels = await engine.look("p", lambda: engine.project("p").stream.counts.labels)
        assert labels == 1
        await observe(engine, "p", "t", "bob")
        assert engine.projects["p"].stream.counts.labels == 2

    run(tmp_path, what, "p")


def test_a_failure_beside_undoes_its_project_alone(tmp_path: Path) -> None:
    async def what(engine: Engine) -> None:
        def fail(project: Project, now: float) -> object:
            project.observe([LabelIn("t", "ann", "x")], now, single=True)
            raise RuntimeError("half-way")

        with pytest.raises(ProblemError):
            await engine.write("p", fail)
        await observe(engine, "p", "t", "bob")
        assert engine.projects["p"].stream.counts.labels == 1

    run(tmp_path, what, "p")


def test_a_snapshot_is_written_in_slices_and_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "PART", 512)
    monkeypatch.setattr(housekeeping, "SNAPSHOT_SECONDS", 0.0)
    monkeypatch.setattr(housekeeping, "PERIOD", 0.0)

    async def what(engine: Engine) -> None:
        for number in range(30):
            await observe(engine, "p", f"t{number}", f"w{number % 5}")
            await asyncio.sleep(0.01)

    run(tmp_path, what, "p")
    store = Store(tmp_path)
    try:
        snapshots = list(store.snapshots(1))
        assert 1 <= len(snapshots) <= stores.KEPT_SNAPSHOTS
        made = [one for one in snapshots if isinstance(one, stores.Snapshot)]
        assert made == snapshots
        assert len(made[0].stream) > 2 * 512
        parts = store.save_in_slices(made[0]._replace(seq=10**6))
        for step in parts[1:3]:  # a kill before the end
            step()
        assert list(store.snapshots(1)) == snapshots
        while store.sweep():
            pass
        store.save_in_slices(made[0]._replace(seq=10**6))
        assert list(store.snapshots(1)) == snapshots
    finally:
        store.close()
