"""Kill −9 loops with a ledger: what was acknowledged is there, once, whatever happens.

The client is a labelling platform in short: it sends labels with an idempotency key each, notes
what was acknowledged, and sends again what was not. The ledger knows nothing of the server.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import httpx

from crowdstream.serve.engine import Engine
from crowdstream.serve.project import Project, make_stream
from crowdstream.serve.store import Store
from crowdstream.serve.wire import Settings
from tests.serve.running import COMMAND, Running, put, start

SETTINGS = {"settle": None, "max_labels": 6}
WORKERS = 40
START = 1_700_000_000.0

Labels = list[dict[str, object]]


class Damage(NamedTuple):
    """What went wrong in a run: labels that were acknowledged and lost, and counted twice."""

    lost: int
    doubled: int
    other: int = 0


@dataclass
class Ledger:
    """What a client sent, and what was acknowledged of it."""

    acknowledged: list[Labels] = field(default_factory=list)
    sent: int = 0


def requests(seed: int, name: str) -> list[Labels]:
    """Requests that a client will send, of one label or several, each with its time."""
    chance = random.Random(seed)
    found: list[Labels] = []
    for number in range(12_000):
        at = START + number
        size = chance.choice((1, 1, 2, 5, 20))
        rows: Labels = []
        for i in range(size):
            task = f"{name}-{number // 8}-{i % 4}"
            worker = f"w{chance.randrange(WORKERS)}"
            rows.append(
                {"task": task, "worker": worker, "label": "ab"[chance.random() < 0.4], "at": at}
            )
        found.append(rows)
    return found


class Sender(threading.Thread):
    """Sends requests in order, each until it is acknowledged, until it is told to stop."""

    def __init__(self, place: Place, project: str, todo: list[Labels]) -> None:
        super().__init__()
        self.place, self.project, self.todo = place, project, todo
        self.ledger = Ledger()
        self.stopping = threading.Event()

    def run(self) -> None:
        """Send."""
        headers = {"Authorization": f"Bearer {self.place.token}"}
        with httpx.Client(headers=headers, timeout=20) as http:
            for number, rows in enumerate(self.todo):
                if self.stopping.is_set():
                    return
                self.ledger.sent += 1
                self._send(http, rows, f"{self.name}-{number}")
                self.ledger.acknowledged.append(rows)

    def _send(self, http: httpx.Client, rows: Labels, key: str) -> None:
        while True:
            try:
                answer = http.post(
                    f"{self.place.url}/v1/projects/{self.project}/labels",
                    json=rows if len(rows) > 1 else rows[0],
                    headers={"Idempotency-Key": key},
                )
                if answer.status_code == 200:
                    return
                assert answer.status_code in (429, 503), answer.text
            except httpx.TransportError:
                pass
            time.sleep(0.02)


@dataclass
class Place:
    """Where the server is now: it is another process after each kill."""

    url: str
    token: str


def run_with_kills(
    folder: Path,
    *,
    kills: int,
    senders: int,
    seed: int = 1,
    pause: tuple[float, float] = (0.0, 0.3),
    command: tuple[str, ...] = COMMAND,
    options: tuple[str, ...] = (),
) -> list[Ledger]:
    """Send labels while the server is killed again and again; returns the ledgers."""
    chance = random.Random(seed)
    running = start(folder, *options, command=command)
    with running.http() as http:
        for number in range(senders):
            put(http, f"p{number}", **SETTINGS)
    place = Place(running.url, running.token)
    threads = [
        Sender(place, f"p{number}", requests(seed + number, f"s{number}"))
        for number in range(senders)
    ]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        _until_some_are_acknowledged(threads)
        time.sleep(chance.uniform(*pause))
        running.kill()
        running = start(folder, *options, command=command)
        place.url = running.url
    return _finish(running, threads)


def _until_some_are_acknowledged(threads: list[Sender], some: int = 5) -> None:
    """A busy machine may need its time; a kill before anything is done tells nothing."""
    before = sum(len(thread.ledger.acknowledged) for thread in threads)
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        if sum(len(thread.ledger.acknowledged) for thread in threads) >= before + some:
            return
        time.sleep(0.005)


def _finish(running: Running, threads: list[Sender]) -> list[Ledger]:
    time.sleep(0.2)
    for thread in threads:
        thread.stopping.set()
    for thread in threads:
        thread.join(60)
    running.kill()
    return [thread.ledger for thread in threads]


def damage(folder: Path, ledgers: list[Ledger]) -> Damage:
    """Compare what the folder has with the ledgers, label by label.

    The ledger says by itself which tasks have closed: once they have had six workers.
    """
    store = Store(folder)
    try:
        engine = Engine(store)
        engine.load()
        lost = doubled = other = 0
        for number, ledger in enumerate(ledgers):
            stream = engine.projects[f"p{number}"].stream
            expected = _count(ledger.acknowledged)
            found = stream.counts
            lost += max(expected["labels"] - found.labels, 0)
            doubled += max(found.labels - expected["labels"], 0)
            other += abs(expected["closed"] - found.closed)
            other += abs(expected["replaced"] - found.replaced)
            other += found.repeated - expected["repeated"]
        return Damage(lost, doubled, other)
    finally:
        store.close()


def _count(requests: list[Labels]) -> dict[str, int]:
    """An independent account of the rules of the stream."""
    counts = dict.fromkeys(("labels", "replaced", "repeated", "late", "closed"), 0)
    tasks: dict[object, dict[object, object]] = {}
    for rows in requests:
        for row in rows:
            said = tasks.setdefault(row["task"], {})
            worker, label = row["worker"], row["label"]
            if len(said) >= SETTINGS["max_labels"]:  # type: ignore[operator]
                counts["late"] += 1
            elif worker not in said:
                counts["labels"] += 1
                said[worker] = label
                counts["closed"] += len(said) == SETTINGS["max_labels"]
            elif said[worker] == label:
                counts["repeated"] += 1
            else:
                counts["replaced"] += 1
                said[worker] = label
    return counts


def state_without_crash(ledger: Ledger) -> tuple[bytes, object]:
    """The state of a project that was given the same requests and never crashed."""
    import msgspec

    from crowdstream.serve.wire import LabelIn

    settings = Settings(settle=None, max_labels=6)
    project = Project(1, "p", settings, 0.0, lambda row, offsets: [])
    assert isinstance(make_stream(settings), type(project.stream))
    for rows in ledger.acknowledged:
        labels = msgspec.convert(rows, list[LabelIn])
        project.observe(labels, START + 1e6, single=len(rows) == 1)
    return project.stream.to_bytes(), project.state


def state_on_disk(folder: Path, name: str) -> tuple[bytes, object]:
    """The state that a start finds."""
    store = Store(folder)
    try:
        engine = Engine(store)
        engine.load()
        project = engine.projects[name]
        return project.stream.to_bytes(), project.state
    finally:
        store.close()
