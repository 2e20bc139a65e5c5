"""Nothing acknowledged is lost or counted twice, and a crash leaves no trace in the state."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.serve import killing
from tests.serve.killing import Damage, damage, run_with_kills
from tests.serve.running import COMMAND, label, post, put, serving, start


def test_twenty_kills_lose_nothing_double_nothing_and_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ledgers = run_with_kills(folder, kills=20, senders=3)
    assert sum(len(ledger.acknowledged) for ledger in ledgers) > 100
    assert damage(folder, ledgers) == Damage(0, 0)
    for number, ledger in enumerate(ledgers):
        found = killing.state_on_disk(folder, f"p{number}")
        assert found == killing.state_without_crash(ledger), "to the bit"


def test_a_server_that_answers_before_it_writes_is_caught(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.serve.careless")
    for seed in range(5):
        folder = tmp_path / f"data{seed}"
        ledgers = run_with_kills(folder, kills=4, senders=3, seed=seed, command=command)
        if damage(folder, ledgers).lost:
            return
    pytest.fail("acknowledged labels were not written, and nobody noticed")


def test_labels_dropped_at_once_leave_the_same_state(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    ledgers = run_with_kills(folder, kills=2, senders=1, options=("--keep-labels", "0"))
    with serving(folder, "--keep-labels", "0") as running:
        assert running.stop() == 0
    assert killing.state_on_disk(folder, "p0") == killing.state_without_crash(ledgers[0])


def test_what_waits_is_answered_and_saved_when_it_is_asked_to_stop(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    running = start(folder)
    with running.http() as http:
        put(http, "p0", **killing.SETTINGS)
    place = killing.Place(running.url, running.token)
    sender = killing.Sender(place, "p0", killing.requests(1, "s0"))
    sender.start()
    while len(sender.ledger.acknowledged) < 20:
        pass
    assert running.stop() == 0
    sender.stopping.set()
    again = start(folder, port=running.port)
    sender.join(30)
    assert again.stop() == 0
    assert damage(folder, [sender.ledger]) == Damage(0, 0)
    assert "Traceback" not in running.said()


STRACE = shutil.which("strace")


@pytest.mark.skipif(STRACE is None, reason="strace is not installed: apt-get install strace")
def test_the_answer_is_sent_after_the_label_is_on_the_disk(tmp_path: Path) -> None:
    folder, trace = tmp_path / "data", tmp_path / "trace"
    calls = "trace=fsync,fdatasync,write,writev,sendto,sendmsg,pwrite64"
    command = (str(STRACE), "-f", "-y", "-s", "8192", "-e", calls, "-o", str(trace), *COMMAND)
    with serving(folder, command=command) as running:
        with running.http() as http:
            put(http, "p")
            for number in range(5):
                post(http, "p", label(f"traced-{number}", "ann", "spam"))
        os.kill(int((folder / "lock").read_text()), signal.SIGTERM)  # strace ends with it
        running.process.wait(30)
    lines = trace.read_text("utf-8", "replace").splitlines()
    for number in range(5):
        name = f"traced-{number}"
        written = _first(lines, rf"pwrite64\(\d+<[^>]*-wal>.*{name}")
        synced = _first(lines, r"f(data)?sync\(\d+<[^>]*-wal>", after=written)
        told = _first(lines, rf"(write|writev|sendto|sendmsg)\(\d+<(socket|TCP).*{name}", written)
        assert written < synced < told, name


def _first(lines: list[str], pattern: str, after: int = 0) -> int:
    for number in range(after, len(lines)):
        if re.search(pattern, lines[number]):
            return number
    raise AssertionError(f"no {pattern} after line {after}")


def test_labels_before_a_change_of_settings_are_replayed_by_those_of_then(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with serving(folder) as running, running.http() as http:
        put(http, "p", settle=None, max_labels=3)
        post(http, "p", [label("t1", worker, "x") for worker in "abc"])
        put(http, "p", settle=None, max_labels=5)
        before = http.get("/v1/projects/p").json()["tasks"]
        assert before["full"] == 1
        running.kill()  # before there is a snapshot
    with serving(folder) as running, running.http() as http:
        assert http.get("/v1/projects/p").json()["tasks"] == before
