"""Folders with something of everything, and bits flipped in them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from crowdstream.serve.access import Access
from crowdstream.serve.answers import digest
from crowdstream.serve.checking import Damage, check
from crowdstream.serve.engine import Engine
from crowdstream.serve.store import Reader, Store
from crowdstream.serve.tokens import ADMIN_FILE, TokenFile, write_secret
from crowdstream.serve.tool_table import LABEL_STUDIO, ToolAnswer
from crowdstream.serve.wire import AlarmOut, LabelIn, Settings

SETTINGS = Settings(max_labels=3, settle=None)
PROJECTS = ("moderation", "tone", "empty")


def make_folder(folder: Path, killed: Path) -> None:
    """Make a folder as a server leaves it that is stopped, and what is there if it is killed."""
    store = Store(folder)
    try:
        _, text = TokenFile(folder).create(["admin"], note="the first")
        TokenFile(folder).create(["write"], "tone", "a tool")
        write_secret(folder / ADMIN_FILE, text.encode() + b"\n")
        Access(folder)
        asyncio.run(_fill(Engine(store, keep_labels=None)))
        shutil.copytree(folder, killed)
    finally:
        store.close()


async def _fill(engine: Engine) -> None:
    engine.load()
    engine.start(asyncio.get_running_loop())
    for name in PROJECTS:
        await engine.ask(lambda name=name: engine.create(name, SETTINGS, 1.0))  # type: ignore[misc]
    chance = random.Random(7)
    for number in range(60):
        name = PROJECTS[number % 2]
        rows = [
            LabelIn(f"{name}-{number // 6}-{i % 5}", f"worker-{chance.randrange(9)}",
                    "spam" if chance.random() < 0.4 else "fine", at=1_000.0 + number)
            for i in range(8)
        ]  # fmt: skip

        def apply(project: Any, now: float, rows: list[LabelIn] = rows) -> object:
            tool = ToolAnswer(LABEL_STUDIO, f"{now}", rows[0].task, "ann", "fine", "q", now)  # type: ignore[arg-type]
            project.answers.put(tool)
            return project.observe(rows, now)

        key = digest(str(number).encode())
        await engine.write(name, apply, key=key, said=b"said")
        if number in (20, 45):
            for each in PROJECTS:
                saved = partial(engine.snapshot, engine.projects[each])
                for step in engine.store.save_in_slices(await engine.ask(saved)):
                    while await engine.ask(step):
                        pass
        if number == 50:
            await engine.ask(lambda: engine.store.drop_labels(1, 2e12))
    await engine.ask(lambda: engine.store.set_secret(1, LABEL_STUDIO, "a secret"))
    alarms = [AlarmOut(9.0, "ann", "up", 0.1, 0.3, 9.0, k, False, k) for k in (5, 6)]
    packed = [msgspec.msgpack.encode(alarm) for alarm in alarms]
    await engine.ask(lambda: engine.store.add_alarms(1, 9.0, packed))
    samples = [(f"worker-{i}", 5, 0.1 * i, None, float("nan")) for i in range(9)]
    await engine.ask(lambda: engine.store.add_history(1, 9.0, samples, 100))
    engine._housekeeping.at_the_end = lambda: None  # type: ignore[method-assign]
    await engine.stop()


def started(folder: Path) -> dict[str, Any]:
    """Return the decisions of projects that a start does not set aside."""
    with closing(Store(folder)) as store:
        engine = Engine(store)
        engine.load()
        return {
            name: (project.stream.to_bytes(), project.state, project.settings, project.created,
                   [project.closed_task(task) for task in _tasks(name)])
            for name, project in engine.projects.items()
        }  # fmt: skip


def _tasks(name: str) -> list[str]:
    return [f"{name}-{number}-{i}" for number in range(10) for i in range(5)]


def everything(folder: Path) -> dict[str, Any]:
    """All that a server says from what is in a folder."""
    found: dict[str, Any] = started(folder)
    with closing(Store(folder)) as store, closing(Reader(folder)) as reader:
        found["answers"] = list(store.answers(0.0))
        found["order"] = [row.name for row in store.projects()]
        for project in (1, 2, 3):
            found[f"alarms {project}"] = store.alarms(project, 10)
            found[f"log {project}"] = list(reader.log_until(project, 10**6))
            found[f"closed {project}"] = list(reader.closed(project))
            found[f"by seq {project}"] = list(reader.closed_until(project, 10**6))
            found[f"tools {project}"] = reader.tools.page(project, LABEL_STUDIO, "", 1000)
            found[f"question {project}"] = reader.tools.question(project, LABEL_STUDIO)
            found[f"secret {project}"] = reader.tools.secret(project, LABEL_STUDIO)
            found[f"history {project}"] = [reader.history(project, f"worker-{i}") for i in range(9)]
    found["tokens"] = json.loads(msgspec.json.encode(TokenFile(folder).all()))
    found["key"] = Access(folder)._key
    return found


def flip(folder: Path, draw: random.Random, names: list[str] | None = None) -> str:
    """Flip a bit anywhere; returns where."""
    files = [folder / name for name in names] if names else sorted(folder.iterdir())
    sizes = [file.stat().st_size for file in files]
    if draw.random() < 0.5:  # small files too
        sizes = [min(size, 1) for size in sizes]
    (file,) = draw.choices(files, sizes)
    data = bytearray(file.read_bytes())
    place = draw.randrange(8 * len(data))
    data[place // 8] ^= 1 << place % 8
    file.write_bytes(bytes(data))
    return f"{file.name}, byte {place // 8}, bit {place % 8}"


def found_by_check(folder: Path) -> list[Damage]:
    return list(check(folder))


def is_silent(folder: Path, before: dict[str, Any], scratch: Path) -> bool:
    """Return True if a start or `check` misses damage that changes answers."""
    looked_at, begun = scratch / "looked-at", scratch / "begun"
    for copy in (looked_at, begun):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder, copy)
    told = found_by_check(looked_at)
    with contextlib.suppress(Exception):
        for name, project in started(begun).items():
            if before.get(name) != project:
                return True
    return not told and everything(folder) != before
