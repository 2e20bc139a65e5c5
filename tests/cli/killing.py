"""A stream that is killed again and again while its input grows, and what is left in the end."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import crowdstream as cs
from tests.cli.tool import SCRIPT, jsonl_of, labels

RULES = ("--settle", "0.95", "--max-labels", "4", "--save-every", "10ms", "-q")
MIXED = 100
"""Labels that a label may be late by."""

PATIENCE = 60.0
"""Seconds that a process may take to begin: far more than it does on a machine that is busy."""


class Damage(NamedTuple):
    """What a file of decisions lacks, has too often, and has otherwise than it should."""

    lost: int
    doubled: int
    changed: int


def damage(expected: bytes, found: bytes) -> Damage:
    """Compare two files of decisions by task; bytes that differ in any way are a change at least.

    A task's decision is named by the part of its line up to the label.
    """
    wanted, there = (
        [(line.partition(b',"label"')[0], line) for line in data.split(b"\n") if line]
        for data in (expected, found)
    )
    count = Counter(name for name, _ in there)
    lost = sum(count[name] == 0 for name, _ in wanted)
    doubled = sum(times - 1 for times in count.values())
    lines = dict(wanted)
    changed = sum(lines.get(name) != line for name, line in there)
    if not (lost or doubled or changed):
        changed = int(expected != found)
    return Damage(lost, doubled, changed)


def many_labels(tasks: int, seed: int = 5) -> bytes:
    """Labels of many tasks through one another, as JSON lines.

    Only of neighbours, so that decisions are made from the beginning to the end.
    """
    rows, draw = labels(tasks, workers=12, seed=seed), random.Random(seed)
    keys = [place + draw.uniform(0, MIXED) for place in range(len(rows))]
    return jsonl_of([rows[place] for place in sorted(range(len(rows)), key=keys.__getitem__)])


class KilledStream:
    """`crowdstream stream FILE --follow -o FILE --state FILE`, killed at random moments."""

    def __init__(self, folder: Path, data: bytes, seed: int) -> None:
        self.folder = folder
        self.data = data
        self.draw = random.Random(seed)
        self.input = folder / "labels.jsonl"
        self.output = folder / "decisions.jsonl"
        self.state = folder / "crowd.state"
        self.input.write_bytes(b"")
        self.kills = 0

    def command(self, *args: str) -> list[str]:
        """The command line, the same each time."""
        files = str(self.input), "-o", str(self.output), "--state", str(self.state)
        return [SCRIPT, "stream", *files, *RULES, *args]

    def kill_often(self, kills: int) -> None:
        """Each time the input has grown, mostly by half a line too many."""
        for number in range(kills):
            end = len(self.data) * (number + 1) // (kills + 1)
            with self.input.open("ab") as file:
                file.write(self.data[file.tell() : end])
            self._kill_once()

    def _kill_once(self) -> None:
        before = self._saved()
        process = subprocess.Popen(self.command("--follow"), stderr=subprocess.PIPE)
        if self.draw.random() < 0.8:  # while it decides; else while it begins
            until = time.monotonic() + PATIENCE
            while self._saved() == before and time.monotonic() < until:
                assert process.poll() is None, process.communicate()
                time.sleep(0.002)
        time.sleep(self.draw.uniform(0.0, 0.15))
        assert process.poll() is None, process.communicate()
        process.send_signal(signal.SIGKILL)
        assert process.wait(PATIENCE) == -signal.SIGKILL
        assert process.stderr is not None
        process.stderr.close()
        self.kills += 1

    def _saved(self) -> int:
        """Which state there is: a run that begins saves one, and more as it goes on."""
        return self.state.stat().st_mtime_ns if self.state.exists() else 0

    def finish(self) -> None:
        """Run to the end of the input undisturbed."""
        with self.input.open("ab") as file:
            file.write(self.data[file.tell() :])
        subprocess.run(self.command(), check=True, timeout=10 * PATIENCE)


def survives(folder: Path, *, tasks: int, kills: int, seed: int) -> Damage:
    """The damage that kills do; the crowd's knowledge must be that of an undisturbed run too."""
    data = many_labels(tasks)
    (folder / "killed").mkdir()
    (folder / "whole").mkdir()
    killed = KilledStream(folder / "killed", data, seed)
    killed.kill_often(kills)
    killed.finish()
    whole = KilledStream(folder / "whole", data, seed)
    whole.finish()
    assert killed.kills == kills
    assert whole.output.read_bytes().count(b"\n") > tasks / 2
    one, other = cs.Stream.load(killed.state), cs.Stream.load(whole.state)
    assert one.crowd.to_bytes() == other.crowd.to_bytes()
    assert (one.counts, one.open_tasks) == (other.counts, other.open_tasks)
    return damage(whole.output.read_bytes(), killed.output.read_bytes())
