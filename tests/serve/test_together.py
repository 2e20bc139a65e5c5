"""Single labels that are taken together give what they give one by one, to the bit."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import msgspec

import crowdstream as cs
from crowdstream.serve.engine import Engine
from crowdstream.serve.jobs import Job
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.project import REMEMBER, Project
from crowdstream.serve.store import Store
from crowdstream.serve.wire import LabelIn, Settings

SETTINGS = Settings(max_labels=4, classes=["x", "y"])


def write(engine: Engine, label: LabelIn, key: bytes = b"") -> Any:
    def apply(project: Project, now: float) -> object:
        return project.observe([label], now, single=True)

    return engine.done(Job(print, "p", apply, key=key, label=label))


def test_posts_that_wait_together_are_answered_as_a_stream_does_one_by_one(tmp_path: Path) -> None:
    chance = random.Random(4)
    said = [chance.choice("xxy") for _ in range(1500)]
    labels = [
        LabelIn(f"t{chance.randrange(60)}", f"w{chance.randrange(12)}", label) for label in said
    ]
    store = Store(tmp_path)

    async def run() -> tuple[list[Any], bytes]:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
        found: list[Any] = []
        for first in range(0, len(labels), 100):
            part = [write(engine, label) for label in labels[first : first + 100]]
            found += map(msgspec.json.decode, await asyncio.gather(*part))
        state = await engine.ask(lambda: engine.projects["p"].stream.to_bytes())
        await engine.stop()
        return found, state

    try:
        found, _ = asyncio.run(run())
        assert store.seq < len(labels) / 2, "they were written together"
    finally:
        store.close()
    stream = cs.Stream(cs.monitor(cs.Adaptive()), max_labels=4, remember=REMEMBER)
    for label, text, answer in zip(labels, said, found, strict=True):
        late = stream.counts.late
        decision = stream.observe(label.task, label.worker, text)
        assert answer["decisions"] == [msgspec.structs.asdict(decision)]
        assert answer["late"] == stream.counts.late - late


def test_a_bad_label_among_others_is_refused_alone(tmp_path: Path) -> None:
    store = Store(tmp_path)

    async def run() -> None:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", SETTINGS, 0.0))
        labels = [LabelIn(f"t{i}", "ann", "z" if i % 10 == 3 else "x") for i in range(40)]
        keys = [b"%d" % (i // 2 * 2 if i >= 20 else i) for i in range(40)]
        posts = (write(engine, label, key) for label, key in zip(labels, keys, strict=True))
        found = await asyncio.gather(*posts, return_exceptions=True)
        refused = [i for i, one in enumerate(found) if isinstance(one, ProblemError)]
        assert refused == [3, 13], "23 and 33 came under the keys of those before them"
        assert found[23] == found[22]
        again = await write(engine, labels[5], b"5")
        assert again == found[5]
        assert (await engine.ask(lambda: engine.projects["p"].stream.counts)).repeated == 0
        await engine.stop()

    try:
        asyncio.run(run())
    finally:
        store.close()


def together(folder: Path, settings: Settings, labels: list[LabelIn]) -> list[Any]:
    """What single labels that wait together are answered, or why they are refused."""
    store = Store(folder)

    async def run() -> list[Any]:
        engine = Engine(store)
        engine.start(asyncio.get_running_loop())
        await engine.ask(lambda: engine.create("p", settings, 0.0))
        found = await asyncio.gather(
            *(write(engine, label) for label in labels), return_exceptions=True
        )
        await engine.stop()
        return list(found)

    try:
        found = asyncio.run(run())
        assert store.seq < len(labels) / 2, "they were written together"
    finally:
        store.close()
    return [one if isinstance(one, Exception) else msgspec.json.decode(one) for one in found]


def test_scores_that_wait_together_pass_or_fail_each(tmp_path: Path) -> None:
    labels = [LabelIn(f"t{n}", "a", n / 100) for n in range(100)]
    found = together(tmp_path, Settings(threshold=0.5, settle=None), labels)
    said = [one["decisions"][0]["label"] for one in found]
    assert said == ["fail"] * 50 + ["pass"] * 50


def test_labels_that_wait_together_are_refused_each(tmp_path: Path) -> None:
    """Twelve numbers are scores, though each of them alone may be a class."""
    labels = [LabelIn(f"t{n}", "a", n, question="tone") for n in range(12)]
    labels.insert(5, LabelIn("u", "a", 1, question="toxic"))
    found = together(tmp_path, Settings(question="tone", settle=None), labels)
    refused = [place for place, one in enumerate(found) if isinstance(one, ProblemError)]
    assert refused == [5, 12]
    assert found[5].problem.path == "$.question"
    assert found[12].problem.got == "a score, 11"
