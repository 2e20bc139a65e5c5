"""What tools told is written with the labels that it led to: both, or neither."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crowdstream.labels.readers.answer import Answer
from crowdstream.serve import store as stores
from crowdstream.serve import tool_answers
from crowdstream.serve.engine import Engine
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import Project
from crowdstream.serve.schema import StoreError
from crowdstream.serve.store import Store
from crowdstream.serve.wire import Settings

TOOL = "label-studio"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "data")
    yield made
    made.close()


def with_engine(store: Store, use: Callable[[Engine], Awaitable[Any]]) -> Any:
    """Use an engine of a project p, and stop it."""

    async def run() -> Any:
        engine = Engine(store)
        engine.load()
        engine.start(asyncio.get_running_loop())
        if "p" not in engine.projects:
            await engine.ask(lambda: engine.create("p", Settings(settle=None, max_labels=5), 0.0))
        try:
            return await use(engine)
        finally:
            await engine.stop()

    return asyncio.run(run())


async def tell(engine: Engine, *answers: Answer, deleted: tuple[str, ...] = ()) -> dict[str, int]:
    def apply(project: Project, now: float) -> object:
        table = engine.store.tools
        return tool_answers.take(project, table, TOOL, list(answers), now, deleted=deleted)

    found: dict[str, int] = msgspec.json.decode(await engine.write("p", apply))
    return {name: number for name, number in found.items() if number}


def answer(number: int, task: str, worker: str, label: str | None, at: float = 1.0) -> Answer:
    return Answer(task, worker, label, "mood", at, id=str(number))


def test_what_was_not_written_is_not_known(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the vote nor the annotation's id, nor a skip, which is no event of the stream."""
    first, skip = answer(1, "t", "ann", "x"), answer(2, "t", "bob", None)

    async def use(engine: Engine) -> None:
        with monkeypatch.context() as broken:

            def fail(*_: object) -> None:
                raise StoreError("database or disk is full")

            broken.setattr(store, "commit", fail)
            broken.setattr(store, "probe", fail)
            for one in (first, skip):
                with pytest.raises(ProblemError, match="full"):
                    await tell(engine, one)
        assert await tell(engine, first) == {"taken": 1, "labels": 1}
        assert await tell(engine, skip) == {"taken": 1}
        assert await tell(engine, first, skip) == {"same": 2}

    with_engine(store, use)


def test_requests_that_are_written_together_know_each_other(store: Store) -> None:
    async def use(engine: Engine) -> None:
        told = [
            tell(engine, answer(1, "t", "ann", "x")),
            tell(engine, answer(1, "t", "ann", "y", at=2.0)),
            tell(engine, answer(1, "t", "ann", "x")),
            tell(engine, answer(2, "t", "ann", "z", at=1.5)),
            tell(engine, deleted=("1",)),
            tell(engine, answer(1, "t", "ann", "y", at=3.0)),
        ]
        before = engine.commit_times.total
        found = await asyncio.gather(*told)
        assert engine.commit_times.total <= before + 2, "most of them in one commit"
        assert found == [
            {"taken": 1, "labels": 1}, {"taken": 1, "labels": 1}, {"stale": 1}, {"taken": 1},
            {"deleted": 1, "labels": 1}, {"stale": 1},
        ]  # fmt: skip
        votes = await engine.ask(lambda: engine.projects["p"].stream.votes("t"))
        assert [(one.worker, one.label) for one in votes] == [("ann", "z")], "2 is left"

    with_engine(store, use)


def test_a_start_gives_the_same_to_the_bit(store: Store) -> None:
    chance = random.Random(3)

    async def use(engine: Engine) -> tuple[bytes, dict[str, Any]]:
        for number in range(150):
            one = answer(number % 60, f"t{number % 7}", f"w{number % 11}",
                         chance.choice(["x", "y", None]), at=float(number))  # fmt: skip
            gone = (str(chance.randrange(60)),) if chance.random() < 0.2 else ()
            await tell(engine, one._replace(gold=chance.random() < 0.1), deleted=gone)
        return await state(engine)

    async def state(engine: Engine) -> tuple[bytes, dict[str, Any]]:
        project = engine.projects["p"]
        read = lambda: (project.stream.to_bytes(), msgspec.structs.asdict(project.state))  # noqa: E731
        return await engine.ask(read)

    before = with_engine(store, use)
    db = sqlite3.connect(store.folder / stores.DATABASE)
    db.execute("DELETE FROM snapshots")  # so that the log is replayed
    db.commit()
    db.close()
    assert with_engine(store, state) == before


def test_what_was_deleted_is_forgotten_after_a_while(store: Store) -> None:
    async def use(engine: Engine) -> None:
        await tell(engine, answer(1, "t", "ann", "x"), answer(2, "t", "bob", "x"), deleted=("1",))
        project = engine.projects["p"].id
        await engine.ask(lambda: store.drop_deleted(time.time() - 60.0))
        assert await engine.ask(lambda: store.tools.find(project, TOOL, "1")) is not None
        await engine.ask(lambda: store.drop_deleted(time.time() + 60.0))
        assert await engine.ask(lambda: store.tools.find(project, TOOL, "1")) is None
        assert await engine.ask(lambda: store.tools.find(project, TOOL, "2")) is not None
        await engine.ask(lambda: store.drop_labels(project, time.time() + 60.0))
        assert await engine.ask(lambda: store.tools.find(project, TOOL, "2")) is None

    with_engine(store, use)
