"""The server's promises on loopback: durable posts and labels a second, memory, time to start.

    python benchmarks/serve.py            posts and batches, against rivals; methods
    python benchmarks/serve.py methods    batches by method, against adaptive in the same run
    python benchmarks/serve.py hooks      webhooks of Label Studio, one annotation each
    python benchmarks/serve.py big        10 M labels of 2 M tasks: memory, and a start after a kill
    python benchmarks/serve.py --quick    less of everything, to see that it runs

The load comes from a second process over raw sockets; every answer is waited for and read. For
comparison the same server runs with the estimator replaced by counting votes (`counting_votes.py`),
and a bare Starlette server that only stores labels in SQLite (`storing.py`), in alternating rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import msgspec

WORKERS, ROUNDS, ERROR = 1000, 5, 0.15
"""Workers of the crowd, labels of each task, how often they err."""

BLOCK = 2000
"""Tasks that are open at a time where the labels of a task come one after the other."""

METHODS = ("adaptive", "majority", "agreement", "centred")
"""Methods of a project, compared with the first."""

SERVERS, KINDS = ("adaptive", "counting", "storing"), ("singles", "batches", "batches spread")
"""Servers that are compared, and the loads that each gets."""

SETTINGS = {"settle": 0.95, "min_labels": 2, "max_labels": ROUNDS}


class Label(msgspec.Struct):
    """A label on its way."""

    task: str
    worker: str
    label: str


class Load(NamedTuple):
    """What a process sends: ready-made requests, by connection."""

    port: int
    requests: list[list[bytes]]


class Result(NamedTuple):
    """Requests a second and how long they took, in milliseconds."""

    seconds: float
    rate: float
    p50: float
    p99: float
    worst: float


def labels(tasks: int, *, spread: bool, first: int = 0, seed: int = 1) -> Iterator[Label]:
    """Labels of so many tasks: all of a task at once, or those of others come in between."""
    chance = random.Random(seed)
    block = BLOCK if spread else 1
    for start in range(first, first + tasks, block):
        names = range(start, min(start + block, first + tasks))
        offset = chance.randrange(WORKERS)
        for turn in range(ROUNDS):
            for task in names:
                worker = (offset + task * 7 + turn * 131) % WORKERS
                wrong = chance.random() < ERROR
                yield Label(f"task-{task}", f"w{worker}", "ab"[(task % 2) ^ wrong])


def request(project: str, token: str, body: bytes, verb: str = "labels") -> bytes:
    """A request as it goes over the wire."""
    head = (
        f"POST /v1/projects/{project}/{verb} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def send_all(load: Load) -> Result:
    """Send everything, each connection one request after the other."""
    loop = asyncio.get_running_loop()
    ways = [Way(todo, loop.create_future()) for todo in load.requests]
    for way in ways:
        await loop.create_connection(lambda way=way: way, "127.0.0.1", load.port)  # type: ignore[misc]
    begun = time.perf_counter()
    for way in ways:
        way.next()
    await asyncio.gather(*(way.done for way in ways))
    seconds = time.perf_counter() - begun
    times = sorted(took for way in ways for took in way.times)
    p50, p99 = (1e3 * times[int(share * (len(times) - 1))] for share in (0.5, 0.99))
    return Result(seconds, len(times) / seconds, p50, p99, 1e3 * times[-1])


class Way(asyncio.Protocol):
    """A connection: one request after the other, as lean as Python can be, for it shares the cores.

    An answer other than 200 ends it.
    """

    def __init__(self, todo: list[bytes], done: asyncio.Future[None]) -> None:
        self.todo, self.done = iter(todo), done
        self.times: list[float] = []
        self.begun = 0.0
        self.left = 0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected."""
        self.transport = transport  # type: ignore[assignment]

    def next(self) -> None:
        """Send the next request."""
        data = next(self.todo, None)
        if data is None:
            self.transport.close()
            self.done.set_result(None)
            return
        self.begun = time.perf_counter()
        self.transport.write(data)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of an answer."""
        if not self.left:
            found = LENGTH.search(data)
            head = data.find(b"\r\n\r\n")
            if found is None or head < 0 or not data.startswith(b"HTTP/1.1 200"):
                self.done.set_exception(RuntimeError(data.decode("latin-1")))
                return
            self.left = head + 4 + int(found[1])
        self.left -= len(data)
        if not self.left:
            self.times.append(time.perf_counter() - self.begun)
            self.next()


LENGTH = re.compile(rb"content-length: (\d+)")


def _send(load: Load, out: multiprocessing.SimpleQueue[Result]) -> None:
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop:
        out.put(loop.run(send_all(load)))


def in_another_process(load: Load) -> Result:
    """The load comes from another process, as it would."""
    context = multiprocessing.get_context("fork")
    out: multiprocessing.SimpleQueue[Result] = context.SimpleQueue()
    process = context.Process(target=_send, args=(load, out))
    process.start()
    process.join()
    if process.exitcode:
        sys.exit("the load was refused")
    return out.get()


class Running(NamedTuple):
    """A server that runs."""

    process: subprocess.Popen[str]
    port: int
    token: str
    seconds: float
    """From its start until it was ready."""


def start(folder: Path, kind: str = "adaptive") -> Running:
    """Start a server of a kind and wait until it is ready."""
    begun = time.perf_counter()
    here = Path(__file__)
    options = ["serve", "--data", str(folder), "--port", "0"]
    command = [sys.executable] + {
        "adaptive": ["-c", "from crowdstream.cli import entry; entry()", *options],
        "counting": [str(here.with_name("counting_votes.py")), *options],
        "storing": [str(here.with_name("storing.py")), str(folder)],
    }[kind]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r":(\d+)/$", process.stderr.readline().strip())
    assert found is not None
    port = int(found[1])
    while True:
        try:
            if b"200" in _get(port, "/readyz")[:20]:
                break
        except OSError:
            pass
        if process.poll() is not None:
            sys.exit(process.stderr.read())
        time.sleep(0.01)
    token = (folder / "admin.token").read_text().strip()
    return Running(process, port, token, time.perf_counter() - begun)


@contextmanager
def serving(folder: Path, kind: str = "adaptive") -> Iterator[Running]:
    """A server for as long as it is needed."""
    running = start(folder, kind)
    try:
        yield running
    finally:
        running.process.send_signal(signal.SIGTERM)
        running.process.wait()


def _get(port: int, path: str, token: str = "", method: str = "GET", body: bytes = b"") -> bytes:
    import socket

    with socket.create_connection(("127.0.0.1", port), 10) as way:
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        head += f"Authorization: Bearer {token}\r\nContent-Length: {len(body)}\r\n\r\n"
        way.sendall(head.encode() + body)
        return b"".join(iter(lambda: way.recv(1 << 16), b""))


def make_project(running: Running, name: str, method: str = "adaptive") -> None:
    """A project."""
    body = json.dumps({**SETTINGS, "method": method}).encode()
    answer = _get(running.port, f"/v1/projects/{name}", running.token, "PUT", body)
    assert b" 201 " in answer[:20], answer


def memory(running: Running) -> float:
    """Megabytes that the server has in memory, now and at most."""
    text = Path(f"/proc/{running.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+)", text)
    assert found is not None
    return int(found[1]) / 1024


def cpu(running: Running) -> float:
    """Seconds of processor time that the server has used: the same on a busy machine."""
    fields = Path(f"/proc/{running.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def singles(running: Running, project: str, posts: int, connections: int = 64) -> Result:
    """Posts of one label each."""
    encode = msgspec.json.Encoder().encode
    made = [
        request(project, running.token, encode(label))
        for label in labels(posts // ROUNDS, spread=True)
    ]
    return in_another_process(
        Load(running.port, [made[i::connections] for i in range(connections)])
    )


def batches(
    running: Running,
    project: str,
    tasks: int,
    *,
    spread: bool,
    first: int = 0,
    connections: int = 8,
) -> Result:
    """Posts of 1,000 labels each."""
    encode = msgspec.json.Encoder().encode
    every = list(labels(tasks, spread=spread, first=first))
    made = [
        request(project, running.token, encode(every[i : i + 1000]))
        for i in range(0, len(every), 1000)
    ]
    return in_another_process(
        Load(running.port, [made[i::connections] for i in range(connections)])
    )


def rates(posts: int, tasks: int, rounds: int) -> None:
    """Posts and labels a second, by the estimator, counting votes, and storing alone."""
    found: defaultdict[tuple[str, str], list[Given]] = defaultdict(list)
    for turn in range(rounds):
        for server in SERVERS[turn % len(SERVERS) :] + SERVERS[: turn % len(SERVERS)]:
            with tempfile.TemporaryDirectory() as folder, serving(Path(folder), server) as running:
                for kind in KINDS:
                    found[server, kind].append(measure(running, kind, posts, tasks))
    print(f"{rounds} rounds; the mean, in brackets the best round")
    print(f"{'':26}{'a second':>22}{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}{'µs of CPU':>17}")
    for (server, kind), given in found.items():
        rate, p50, p99, worst, used = (mean(column) for column in zip(*given, strict=True))
        best, least = max(one.rate for one in given), min(one.used for one in given)
        print(f"{server + ', ' + kind:26}{f'{rate:,.0f} ({best:,.0f})':>22}{p50:9.1f}{p99:9.1f}"
              f"{worst:9.1f}{f'{used:.2f} ({least:.2f})':>17}")  # fmt: skip
    for kind in KINDS:
        mine = [one.rate for one in found["adaptive", kind]]
        for rival, words in (("counting", "counting votes"), ("storing", "storing alone")):
            theirs = [one.rate for one in found[rival, kind]]
            print(f"{kind}: with the estimator {mean(mine) / mean(theirs):.2f} times the "
                  f"throughput of {words} ({max(mine) / max(theirs):.2f})")  # fmt: skip


class Given(NamedTuple):
    """Labels a second, milliseconds of their requests, and the server's microseconds a label."""

    rate: float
    p50: float
    p99: float
    worst: float
    used: float


def measure(running: Running, kind: str, posts: int, tasks: int) -> Given:
    """Send one kind of load to a new project."""
    name = kind.replace(" ", "-")
    make_project(running, name)
    before = cpu(running)
    if kind == "singles":
        result, size = singles(running, name, posts), 1
    else:
        spread = kind.endswith("spread")
        result, size = batches(running, name, tasks, spread=spread), 1000
    used = 1e6 * (cpu(running) - before) / (result.seconds * result.rate * size)
    return Given(result.rate * size, result.p50, result.p99, result.worst, used)


def methods(tasks: int, rounds: int) -> dict[str, list[float]]:
    """Labels a second by method: batches to new projects of one server, in alternating rounds."""
    found: dict[str, list[float]] = {method: [] for method in METHODS}
    used: dict[str, list[float]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as running:
        for turn in range(rounds):
            for method in METHODS[turn % len(METHODS) :] + METHODS[: turn % len(METHODS)]:
                name, before = f"{method}-{turn}", cpu(running)
                make_project(running, name, method)
                result = batches(running, name, tasks, spread=True)
                found[method].append(1000 * result.rate)
                used[method].append(1e6 * (cpu(running) - before) / (tasks * ROUNDS))
    print(f"{tasks * ROUNDS:,} labels a project, spread over batches of 1,000; {rounds} rounds")
    print(f"{'method':12}{'mean a second':>15}{'best':>12}{'of adaptive':>13}{'best':>8}"
          f"{'µs of CPU':>11}{'least':>9}")  # fmt: skip
    for method, rates in found.items():
        mean, first = sum(rates) / rounds, found[METHODS[0]]
        print(f"{method:12}{mean:15,.0f}{max(rates):12,.0f}{mean / (sum(first) / rounds):13.0%}"
              f"{max(rates) / max(first):8.0%}{sum(used[method]) / rounds:11.1f}"
              f"{min(used[method]):9.1f}")  # fmt: skip
    return found


def hooks(posts: int) -> None:
    """Webhooks of Label Studio, which waits a second for each: one annotation, with its task."""
    print(f"{'connections':>12}{'a second':>12}{'p50 ms':>9}{'p99 ms':>9}{'worst':>9}"
          f"{'µs of CPU':>11}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as running:
        make_project(running, "hooks")
        first = 0
        for connections in (1, 16, 64):
            made = [
                request("hooks", running.token, hook(number, label), "hooks/label-studio")
                for number, label in enumerate(
                    labels(posts // ROUNDS, spread=True, first=first), start=first * ROUNDS
                )
            ]
            first += posts // ROUNDS
            ways, used = [made[i::connections] for i in range(connections)], cpu(running)
            result = in_another_process(Load(running.port, ways))
            each = 1e6 * (cpu(running) - used) / len(made)
            print(f"{connections:12,}{result.rate:12,.0f}{result.p50:9.1f}{result.p99:9.1f}"
                  f"{result.worst:9.1f}{each:11.0f}")  # fmt: skip


def hook(number: int, label: Label) -> bytes:
    """An annotation as Label Studio tells it."""
    value = {"choices": [label.label]}
    result = {"from_name": "mood", "to_name": "text", "type": "choices", "value": value}
    told = {
        "id": number, "task": label.task, "completed_by": label.worker, "was_cancelled": False,
        "updated_at": "2026-01-01T00:00:00.000000Z", "result": [result],
    }  # fmt: skip
    task = {"id": label.task, "data": {"text": "some words " * 100}}
    return json.dumps({"action": "ANNOTATION_CREATED", "annotation": told, "task": task}).encode()


def big(millions: int) -> None:
    """Many labels: memory, and how long a start takes after a kill."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        running = start(folder)
        make_project(running, "big")
        begun = time.perf_counter()
        step = 100_000
        for first in range(0, millions * 1_000_000 // ROUNDS, step):
            batches(running, "big", step, spread=True, first=first)
            done = (first + step) * ROUNDS
            took = time.perf_counter() - begun
            print(
                f"{done:12,} labels  {memory(running):8,.0f} MB at most  {took:8.0f} s", flush=True
            )
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait()
        size = sum(path.stat().st_size for path in folder.iterdir()) / 2**20
        again = start(folder)
        print(f"on disk {size:,.0f} MB; ready {again.seconds:.2f} s after a kill; "
              f"{memory(again):,.0f} MB")  # fmt: skip
        again.process.terminate()
        again.process.wait()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "what", nargs="?", choices=("rates", "methods", "hooks", "big"), default="rates"
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--millions", type=int, default=10)
    given = parser.parse_args()
    if given.what == "big":
        big(1 if given.quick else given.millions)
    elif given.what == "methods":
        methods(*((400, 2) if given.quick else (6_000, 3)))
    elif given.what == "hooks":
        hooks(2_000 if given.quick else 20_000)
    else:
        rates(*((5_000, 4_000, 1) if given.quick else (60_000, 100_000, 3)))
        methods(*((400, 2) if given.quick else (6_000, 3)))


if __name__ == "__main__":
    main()
