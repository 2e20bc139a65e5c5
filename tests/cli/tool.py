"""The command line in this process: arguments and input in, exit code and output out."""

from __future__ import annotations

import csv
import io
import json
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from crowdstream.cli import main

SCRIPT = str(Path(sys.executable).with_name("crowdstream"))
Row = tuple[str, str, str]


class Result(NamedTuple):
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        """The object of ``--json``."""
        found: dict[str, Any] = json.loads(self.out.rstrip("\n").split("\n")[-1])
        return found

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The objects of JSON lines."""
        return [json.loads(line) for line in self.out.split("\n") if line]


class Screen(io.TextIOWrapper):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def call(*args: str | Path, stdin: bytes | int = b"", tty: bool = False) -> Result:
    """Run `main` as a shell would; what it does not catch is raised here, and so fails a test."""
    was = sys.argv, sys.stdin, sys.stdout, sys.stderr
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    buffers = io.BytesIO(), io.BytesIO()
    screen = Screen if tty else io.TextIOWrapper
    out = screen(buffers[0], encoding="utf-8", errors="strict", newline="")
    err = io.TextIOWrapper(buffers[1], encoding="utf-8", errors="backslashreplace", newline="")
    code: object = 0
    csv.field_size_limit(131_072)  # as in a new process
    with tempfile.TemporaryFile() as given, warnings.catch_warnings():
        warnings.simplefilter("always")
        for kind in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = lambda message, *_, **__: print(message, file=err)
        if isinstance(stdin, bytes):
            given.write(stdin)
            given.seek(0)
        source = given.fileno() if isinstance(stdin, bytes) else stdin
        try:
            sys.argv = ["crowdstream", *map(str, args)]
            sys.stdin = open(source, encoding="utf-8", closefd=False)  # noqa: SIM115
            sys.stdout, sys.stderr = out, err
            main()
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.argv, sys.stdin, sys.stdout, sys.stderr = was
            for number, handler in handlers.items():
                signal.signal(number, handler)
    for stream in (out, err):
        stream.flush()
    assert isinstance(code, int)
    return Result(code, *(buffer.getvalue().decode() for buffer in buffers))


def refused(result: Result, *words: str) -> None:
    """The command ended as for a user's mistake: exit 2 and one line that says these words."""
    assert result.code == 2, result
    assert result.err.startswith("crowdstream: "), result.err
    assert result.err.count("\n") == 1, result.err
    assert result.err.endswith("\n")
    assert "Traceback" not in result.err
    for word in words:
        assert word in result.err, result.err


def labels(tasks: int = 60, *, a_task: int = 5, workers: int = 8, seed: int = 0) -> list[Row]:
    """Labels of a made-up crowd, task after task; half of it is good, the truth is in the name."""
    draw = random.Random(seed)
    rows = []
    for number in range(tasks):
        truth = draw.choice("xyz")
        for who in draw.sample(range(workers), a_task):
            wrong = draw.random() < (0.1 if who < workers / 2 else 0.5)
            said = draw.choice("xyz".replace(truth, "")) if wrong else truth
            rows.append((f"t{number}{truth}", f"w{who}", said))
    return rows


def csv_of(rows: Iterable[Sequence[str]], header: str = "task,worker,label") -> bytes:
    """Plain CSV."""
    return "".join(f"{line}\n" for line in (header, *map(",".join, rows))).encode()


def jsonl_of(rows: Iterable[Row]) -> bytes:
    """JSON lines."""
    names = ("task", "worker", "label")
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows).encode()


def gold_of(rows: Iterable[Row]) -> bytes:
    """The truth that `labels` put into the names."""
    return csv_of(sorted({(task, task[-1]) for task, _, _ in rows}), "task,gold")


def alike(one: str | Path, other: str | Path, **near: float) -> None:
    """Two tables in CSV are the same, but that some columns are only as near as said."""
    tables = [
        pl.read_csv(table if isinstance(table, Path) else table.encode()) for table in (one, other)
    ]
    assert tables[0].columns == tables[1].columns
    assert tables[0].drop(near).equals(tables[1].drop(near))
    for name, most in near.items():
        assert tables[0][name].to_list() == pytest.approx(tables[1][name].to_list(), abs=most)


def left_in(folder: Path) -> list[str]:
    """What is in a folder, hidden files too."""
    return sorted(path.name for path in folder.iterdir())
