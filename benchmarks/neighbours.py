"""Measures posts to a small project while a big one is viewed, exported, saved and posted to.

    python benchmarks/neighbours.py              50 classes, 5,000 workers, 200,000 labels beside
    python benchmarks/neighbours.py --quick      less of everything, to see that it runs
    python benchmarks/neighbours.py --data DIR   keep the folder there, and use it again

One connection posts single labels to the small project, one after the other, all the while. A step
that others wait for shows as the longest of its posts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx

PER_TASK = 5
"""Labels of a task of the big project."""

ERROR = 0.25
"""Error rates of its workers."""

SECONDS = 12.0
"""Seconds of each kind of load."""

PART = 5_000
"""Labels in a request."""

PROBABILITIES = "/export/decisions?tasks=all&probabilities=true&format=ndjson"

LOOKS = (
    "", "/workers?limit=10", "/workers?sort=error_rate&limit=50", "/workers?sort=trend&limit=50",
    "/tasks?state=uncertain&limit=10", "/tasks?state=open&limit=50", "/tasks?state=closed&limit=50",
    "/workers/w7", "/tasks/t7", "/alarms",
)  # fmt: skip
"""Requests that the page makes of a project."""

EXPORTS = (
    "/export/decisions", "/export/decisions?format=parquet", PROBABILITIES, "/export/workers",
)  # fmt: skip


class Size(NamedTuple):
    """A big project."""

    classes: int
    workers: int
    labels: int


SERVE = """
import sys
from crowdstream.serve import housekeeping
housekeeping.SNAPSHOT_SECONDS = {snapshots}
from crowdstream.cli import main
main()
"""


@contextmanager
def server(folder: Path, snapshots: float) -> Iterator[tuple[httpx.Client, int]]:
    """A server that saves changed projects as often as this, and its process."""
    code = SERVE.format(snapshots=snapshots)
    command = [sys.executable, "-c", code, "serve", "--data", str(folder), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    found = None
    for line in process.stdout:
        found = found or re.search(rb"http://[0-9.]+:(\d+)/", line)
        if found is not None:
            break
    if found is None:
        raise RuntimeError("the server did not start")
    threading.Thread(target=process.stdout.read, daemon=True).start()
    token = (folder / "admin.token").read_text().strip()
    url, headers = f"http://127.0.0.1:{int(found[1])}", {"Authorization": f"Bearer {token}"}
    try:
        with httpx.Client(base_url=url, headers=headers, timeout=600) as http:
            while True:
                try:
                    if http.get("/readyz").status_code == 200:
                        break
                except httpx.TransportError:
                    pass
                time.sleep(0.1)
            yield http, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(120)


def rows(size: Size, first: int, labels: int) -> list[dict[str, str]]:
    """Labels of the big project from one on."""
    chance, found = random.Random(first), []
    for task in range(first // PER_TASK, (first + labels) // PER_TASK):
        truth = chance.randrange(size.classes)
        for worker in chance.sample(range(size.workers), PER_TASK):
            wrong = chance.random() < ERROR
            said = chance.randrange(size.classes) if wrong else truth
            found.append({"task": f"t{task}", "worker": f"w{worker}", "label": f"class {said}"})
    return found


def post(http: httpx.Client, labels: list[dict[str, str]]) -> None:
    """Post labels to the big project."""
    http.post("/v1/projects/big/labels?decisions=none", json=labels).raise_for_status()


def fill(http: httpx.Client, size: Size) -> None:
    """Make the big project, unless it is there."""
    have = http.get("/v1/projects/big")
    done = have.json()["labels"] if have.status_code == 200 else 0
    if not done:
        settings = {"min_labels": PER_TASK, "max_labels": PER_TASK}
        http.put("/v1/projects/big", json=settings).raise_for_status()
    for first in range(done, size.labels, PART):
        post(http, rows(size, first, min(PART, size.labels - first)))
    http.put("/v1/projects/small", json={"max_labels": 3}).raise_for_status()


class Small:
    """Posts to the small project, one after the other, and notes how long each takes."""

    def __init__(self, http: httpx.Client) -> None:
        self.http, self.times, self.number, self.goes_on = http, list[float](), 0, True
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        headers = dict(self.http.headers)
        with httpx.Client(base_url=self.http.base_url, headers=headers, timeout=600) as http:
            while self.goes_on:
                self.number += 1
                label = {
                    "task": f"s{time.time_ns()}",
                    "worker": f"v{self.number % 7}",
                    "label": "x",
                }
                begun = time.perf_counter()
                http.post("/v1/projects/small/labels", json=label).raise_for_status()
                self.times.append(1e3 * (time.perf_counter() - begun))
                time.sleep(0.002)


def measure(
    name: str, http: httpx.Client, pid: int, load: Callable[[], None], seconds: float
) -> None:
    """The small project's posts while something else goes on, again and again."""
    small = Small(http)
    small.thread.start()
    begun, turns, longest = time.perf_counter(), 0, 0.0
    while time.perf_counter() < begun + seconds:
        last = time.perf_counter()
        load()
        longest = max(longest, time.perf_counter() - last)
        turns += 1
    small.goes_on = False
    small.thread.join()
    times = sorted(small.times)
    p50, p99 = (times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    say(
        ("load", name), ("turns", turns), ("longest turn s", longest), ("posts", len(times)),
        ("p50 ms", p50), ("p99 ms", p99), ("max ms", times[-1]), *memories(pid),
    )  # fmt: skip


def say(*numbers: tuple[str, object]) -> None:
    """Print a line of JSON."""
    found = {name: round(n, 2) if isinstance(n, float) else n for name, n in numbers}
    print(json.dumps(found), flush=True)


def memories(pid: int) -> list[tuple[str, int]]:
    """Memory of a process: now, and the most so far."""
    return [("memory MB", memory(pid)), ("peak MB", memory(pid, "VmHWM"))]


def memory(pid: int, field: str = "VmRSS") -> int:
    """Megabytes of a process."""
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"{field}:\s+(\d+)", text)
    return int(found[1]) // 1024 if found else 0


def main() -> None:
    """Measure each kind of load."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--fill", action="store_true", help="only make the folder")
    given = parser.parse_args()
    size = Size(10, 100, 2_000) if given.quick else Size(50, 5_000, 200_000)
    seconds = 0.5 if given.quick else SECONDS
    with tempfile.TemporaryDirectory() as made:
        folder = given.data or Path(made) / "data"
        with server(folder, 1e9) as (http, pid):
            begun = time.perf_counter()
            fill(http, size)
            say(("filled in s", time.perf_counter() - begun), *memories(pid))
        if given.fill:
            return
        begun = time.perf_counter()
        with server(folder, 2.0) as (http, pid):
            took = time.perf_counter() - begun
            say(("started in s", took), *memories(pid), ("folder MB", weight(folder)))
            for name, load in loads(http, size).items():
                if given.only in name:
                    measure(name, http, pid, load, seconds)
            say(*memories(pid), ("folder MB", weight(folder)))


def weight(folder: Path) -> int:
    """Megabytes of a folder."""
    return sum(os.stat(path).st_size for path in folder.rglob("*") if path.is_file()) >> 20


def loads(http: httpx.Client, size: Size) -> dict[str, Callable[[], None]]:
    """Kinds of load beside the posts, by name."""
    chance = random.Random(time.time())

    def get(*paths: str) -> Callable[[], None]:
        def load() -> None:
            for path in paths:
                http.get(f"/v1/projects/big{path}").raise_for_status()

        return load

    def change() -> None:
        number = chance.randrange(10**9)
        post(http, [{"task": f"n{number}", "worker": f"w{number % 99}", "label": "class 3"}])

    def look() -> None:
        change()
        get(*LOOKS)()

    def listen() -> None:
        change()
        with http.stream("GET", "/v1/projects/big/events") as answer:
            until = time.monotonic() + 1.5
            for _ in answer.iter_lines():
                if time.monotonic() > until:
                    break
                change()

    def change_and_wait() -> None:
        change()
        time.sleep(0.05)

    def batch() -> None:
        post(http, rows(size, size.labels + PER_TASK * chance.randrange(10**7), 1000))

    def every_export() -> None:
        change()
        get(*EXPORTS)()

    return {
        "nothing": lambda: time.sleep(0.2), "page": look, "listening": listen,
        "snapshots": change_and_wait, "exports": every_export, "batches of 1,000": batch,
    }  # fmt: skip


if __name__ == "__main__":
    main()
