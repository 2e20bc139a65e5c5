"""The machine's clock is set, forth and back: what goes by intervals goes on evenly."""

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from crowdstream.serve.clock import Clock
from crowdstream.serve.engine import Engine
from crowdstream.serve.store import Store
from crowdstream.serve.wire import LabelIn, Settings

DAY = 86_400.0


class Machine:
    """A machine's clock, and the seconds that go by."""

    def __init__(self) -> None:
        self.wall, self.gone = 1.7e9, 50.0

    def sleep(self, seconds: float) -> None:
        self.wall += seconds
        self.gone += seconds

    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.gone)


async def observe(engine: Engine, task: str) -> None:
    rows = [LabelIn(task, "ann", "x")]
    await engine.write("p", lambda project, now: project.observe(rows, now))


async def look(engine: Engine) -> None:
    """Look what is due, as once a second, until it is done."""
    for _ in range(2):
        engine._housekeeping._due = 0.0
        await engine.ask(lambda: None)
        while engine._housekeeping._due == 0.0 or await engine.ask(partial(is_busy, engine)):
            await asyncio.sleep(0.01)


def is_busy(engine: Engine) -> bool:
    """True if something is worked on beside or written in slices."""
    watches = engine._housekeeping._watches.values()
    return bool(engine.is_lent("p") or engine._slices or any(one.busy for one in watches))


@pytest.mark.parametrize("jump", [-DAY, DAY])
def test_snapshots_and_idle_tasks_do_not_mind_that_the_clock_is_set(
    tmp_path: Path, jump: float
) -> None:
    machine = Machine()

    async def run(store: Store) -> None:
        engine = Engine(store)
        engine.clock = machine.clock()
        engine.load()
        engine.start(asyncio.get_running_loop())
        await engine.ask(partial(engine.create, "p", Settings(idle=100.0), machine.wall))
        await look(engine)
        await observe(engine, "t1")
        machine.wall += jump
        machine.sleep(70)
        await observe(engine, "t2")
        await look(engine)
        assert await engine.ask(lambda: engine.projects["p"].stream.n_open) == 2
        saved = await engine.ask(lambda: [one.seq for one in store.snapshots(1)])  # type: ignore[union-attr]
        assert saved, "a minute has gone by"
        machine.sleep(40)
        await look(engine)
        names = await engine.ask(lambda: list(engine.projects["p"].stream.open_tasks))
        assert names == ["t2"], "the other was idle for 110 seconds"
        await engine.stop()

    with closing(Store(tmp_path)) as store:
        asyncio.run(run(store))


def test_a_clock_set_back_while_the_server_was_down_does_not_stop_time(tmp_path: Path) -> None:
    machine = Machine()

    async def run(store: Store, *, first: bool) -> None:
        engine = Engine(store)
        engine.clock = machine.clock()
        engine.load()
        engine.start(asyncio.get_running_loop())
        if first:
            await engine.ask(partial(engine.create, "p", Settings(idle=100.0), machine.wall))
            await observe(engine, "t1")
        else:
            machine.sleep(110)
            await look(engine)
            assert await engine.ask(lambda: engine.projects["p"].stream.n_open) == 0
        await engine.stop()

    for first in (True, False):
        with closing(Store(tmp_path)) as store:
            asyncio.run(run(store, first=first))
        machine.wall -= DAY
