"""Thousands of classes on the command line: decided in bounded memory, and said."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from pathlib import Path

import polars as pl

from tests.cli.tool import call

COMMAND = "from crowdstream.cli import entry; entry()"

MOST_MEMORY = 4 << 30
"""Addresses that `run` may use: what it keeps is far below, threads and libraries reserve more."""


def labels_file(path: Path, classes: int, tasks: int, per_task: int = 5) -> Path:
    """A file of labels that are right, c and the task's number, in two of three cases."""
    rng = random.Random(0)
    rows = [
        (f"t{task}", f"w{worker}", f"c{task % classes if right else rng.randrange(classes)}")
        for task in range(tasks)
        for worker in rng.sample(range(60), per_task)
        for right in [rng.random() < 0.67]
    ]
    pl.DataFrame(rows, ["task", "worker", "label"], orient="row").write_csv(path)
    return path


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def run_limited(*args: str | Path) -> subprocess.CompletedProcess[str]:
    """`crowdstream` in a process that may not have more memory than `MOST_MEMORY`."""
    command = [sys.executable, "-c", COMMAND, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limited)


def test_6000_classes_are_decided_and_said(tmp_path: Path) -> None:
    labels = labels_file(tmp_path / "labels.csv", 6000, 12_000)
    truth = tmp_path / "truth.csv"
    rows = [(f"t{task}", f"c{task % 6000}") for task in range(12_000)]
    pl.DataFrame(rows, ["task", "label"], orient="row").write_csv(truth)
    made = [f"{tmp_path}/{name}" for name in ("d.csv", "w.csv", "s")]
    outputs = ["-o", made[0], "--workers", made[1], "--state", made[2]]
    done = run_limited("run", labels, "--truth", truth, "--json", *outputs)
    assert done.returncode == 0, done.stderr
    assert "6,000 classes: decided by agreement alone" in done.stdout
    assert "Traceback" not in done.stderr
    found = pl.read_csv(made[0])
    right = (found["label"] == pl.Series([truth for _, truth in rows])).sum()
    assert right > 0.9 * len(rows)  # 0.95 of tasks have two labels that are the truth
    assert pl.read_csv(made[1]).height == 60
    assert run_limited("workers", made[2]).returncode == 0


def test_as_many_classes_as_labels_are_no_traceback(tmp_path: Path) -> None:
    rows = [(f"t{n // 2}", f"w{n % 7}", f"some text {n}") for n in range(150_000)]
    path = tmp_path / "text.csv"
    pl.DataFrame(rows, ["task", "worker", "label"], orient="row").write_csv(path)
    args = ("run", path, "-o", tmp_path / "d.csv", "--json")
    refused = run_limited(*args)
    assert (refused.returncode, "free text" in refused.stderr) == (2, True)
    done = run_limited(*args, "--as-classes")
    assert done.returncode == 0, done.stderr
    assert "150,000 classes: decided by agreement alone" in done.stdout
    assert pl.read_csv(tmp_path / "d.csv").height == 75_000


def test_the_note_is_given_once_and_for_every_way_of_reading(tmp_path: Path) -> None:
    labels = labels_file(tmp_path / "labels.csv", 300, 600)
    for how in ([], ["--online"], ["--window", "100"]):
        done = call("run", labels, "-o", tmp_path / "d.csv", *how)
        assert done.code == 0, done.err
        assert done.err.count("classes: decided by agreement alone") == 1


def test_few_classes_and_majority_vote_have_no_note(tmp_path: Path) -> None:
    few = labels_file(tmp_path / "few.csv", 20, 300)
    many = labels_file(tmp_path / "many.csv", 300, 600)
    for args in ([few], [many, "--method", "majority"]):
        done = call("run", *args, "-o", tmp_path / "d.csv")
        assert done.code == 0, done.err
        assert "by agreement alone" not in done.err
