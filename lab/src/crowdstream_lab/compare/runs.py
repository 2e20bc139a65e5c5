"""Every method on every data set, each in a process of its own.

One that is slow, hungry or broken costs a line of the table and not the run.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import multiprocessing
import pickle
import signal
import textwrap
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import polars as pl

from crowdstream import AgreementBased, CrowdstreamError, InputError
from crowdstream_lab.compare.journal import Journal
from crowdstream_lab.compare.measures import (
    FAILED,
    FILE,
    MISSING,
    OK,
    OVER_LIMIT,
    RUNS,
    TOO_LARGE,
    TWO_ONLY,
    Row,
    measure,
)
from crowdstream_lab.compare.methods import YARDSTICK, Method
from crowdstream_lab.datasets import Dataset

if TYPE_CHECKING:
    pass


NOTE = 120
"""Characters of a broken method's own words that are shown."""


INSTALL = "pip install 'crowdstream[bench]'"
"""Command that installs the methods of others."""


class Laboratory:
    """Runs methods on sets, each in a process of its own that is ended at the time limit.

    Those processes are forked from one that has loaded the methods but touched no table: polars
    cannot be forked once its threads have started, as they will have in the caller's process.
    """

    def __init__(self, methods: Sequence[Method]) -> None:
        self.modules = sorted({method.module for method in methods})

    def __enter__(self) -> Laboratory:
        spawn = multiprocessing.get_context("spawn")
        self.wire, theirs = spawn.Pipe()
        self.server = spawn.Process(target=_serve, args=(theirs, self.modules))
        self.server.start()
        theirs.close()
        return self

    def run(
        self,
        method: Method,
        data: Dataset,
        shuffles: int,
        seed: int,
        limit: float,
        runs: int = RUNS,
    ) -> list[Row]:
        """The rows of a method on a set; what cannot be run is a row that says why."""
        if not method.installed():
            return [Row(data.name, method.name, FILE, MISSING, INSTALL)]
        if method.two_only and data.labels["label"].n_unique() > 2:
            return [Row(data.name, method.name, FILE, TWO_ONLY)]
        job = pickle.dumps((method, data, shuffles, seed, runs))
        self.wire.send((job, limit))
        rows: list[Row] = []
        while True:
            answer = self.wire.recv()
            if answer is None:
                return rows
            if isinstance(answer, Row):
                rows.append(answer)
                continue
            order = f"shuffle {len(rows)}" if rows else FILE
            rows.append(Row(data.name, method.name, order, *answer))

    def __exit__(self, *_: object) -> None:
        self.wire.close()
        self.server.join()


def _serve(wire: Connection, modules: list[str]) -> None:
    """Load what the methods need, then fork a child for each job and pass on what it tells."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in modules:
        with contextlib.suppress(Exception):  # the child that needs it will say so
            importlib.import_module(name)
    AgreementBased().learn_one({"ann": "x", "bob": "x"})  # loads the loops, starts no thread
    kinds = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("fork" if "fork" in kinds else "spawn")
    with contextlib.suppress(EOFError, OSError):  # the caller has gone
        while True:
            job, limit = wire.recv()
            ours, theirs = context.Pipe(duplex=False)
            child = context.Process(target=_work, args=(theirs, job))
            child.start()
            theirs.close()
            try:
                _pass_on(ours, wire, limit)
            finally:
                child.kill()
                child.join()
            wire.send(None)


def _pass_on(child: Connection, wire: Connection, limit: float) -> None:
    """Rows of a child until it is done, or too slow, or dead."""
    while child.poll(limit):
        try:
            answer = child.recv()
        except EOFError:
            return wire.send((FAILED, "its process died, perhaps for want of memory"))
        if answer is None:
            return None
        wire.send(answer)
    return wire.send((OVER_LIMIT, f"{limit:g} s"))


def _work(wire: Connection, job: bytes) -> None:
    """The child: measure, and tell every row at once."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")
    try:
        for row in measure(*pickle.loads(job)):
            wire.send(row)
    except InputError as error:  # the sets are clean by now: it is their size that is refused
        wire.send((TOO_LARGE, str(error)))
    except Exception as error:
        answer = textwrap.shorten(f"{type(error).__name__}: {error}", NOTE)
        wire.send((FAILED, answer))
    wire.send(None)


def compare(
    sets: Sequence[Dataset],
    methods: Sequence[Method],
    *,
    shuffles: int,
    seed: int,
    limit: float,
    runs: int = RUNS,
    tick: Callable[[str, str], None] = lambda method, name: None,
    journal: Journal | None = None,
) -> pl.DataFrame:
    """The long table: a `Row` for every method, set and order.

    Online methods meet the file's order of tasks and so many ``shuffles``; ``limit`` is in seconds
    for one order; sets are taken from the smallest on; times are the quickest of up to so many
    ``runs``; ``tick`` hears which method is next on which set; ``journal`` keeps the rows as they
    come, and knows those of an earlier run.
    """
    if journal is None:
        journal = Journal(sets, {"shuffles": shuffles, "seed": seed, "limit": limit, "runs": runs})
    slow = _Slow()
    with Laboratory(methods) as laboratory:
        for data in sorted(sets, key=lambda data: data.labels.height):
            for method in methods:
                tick(method.name, data.name)
                found = journal.known(method.name, data) or slow.known(method, data)
                found = found or laboratory.run(method, data, shuffles, seed, limit, runs)
                if method.name == YARDSTICK and found[-1].status != OK:
                    answer = f"{found[-1].status} ({found[-1].note})"
                    raise CrowdstreamError(f"{YARDSTICK}, the yardstick, on {data.name}: {answer}")
                slow.note(method, data, found)
                journal.add(found)
    return journal.table()


class _Slow:
    """Methods that were over the time limit, by set.

    A method is not tried on a set with as many labels and classes or more: it would cost the whole
    limit to learn nothing.
    """

    def __init__(self) -> None:
        self.seen: dict[str, list[Dataset]] = {}

    def note(self, method: Method, data: Dataset, rows: Sequence[Row]) -> None:
        if rows[-1].status == OVER_LIMIT:
            self.seen.setdefault(method.name, []).append(data)

    def known(self, method: Method, data: Dataset) -> list[Row]:
        for other in self.seen.get(method.name, []):
            smaller = other.labels.height <= data.labels.height
            if smaller and other.labels["label"].n_unique() <= data.labels["label"].n_unique():
                note = f"not tried: it was on {other.name}, which is smaller"
                return [Row(data.name, method.name, FILE, OVER_LIMIT, note)]
        return []
