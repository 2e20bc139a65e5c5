"""What a label costs: learning, teaching and deciding, against counting votes, in one run.

    make bench        or        python benchmarks/core.py [--quick]

Labels are simulated (two classes, five labels per task, reliabilities uniform over [0, 1]) and in
codes already, unless a line says otherwise. Processor time of one core, the least of several runs,
as other programs can only add to it; two threads and new processes by the clock on the wall.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest import mock

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[name] = "1"

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import crowdstream as cs
from crowdstream.decisions.decision import Votes
from crowdstream.decisions.ties import class_keys
from crowdstream.decisions.votes import TieRule, choose
from crowdstream.labels.batch import LabelBatch
from crowdstream.models.committee import SAMPLE, Committee
from crowdstream.models.fallback import majority
from crowdstream.models.fitting import add_tasks, fit_students, sweep
from crowdstream.models.passes import InMemory, task_keys
from crowdstream.models.posterior_loops import add_posteriors
from crowdstream.models.reading import Reading
from crowdstream.models.scorer import WeightedVotes, into_counts
from crowdstream.models.teacher import vote_weights
from crowdstream.monitoring import monitor
from crowdstream.sums.agreement import AgreementSums

Floats = NDArray[np.float64]

LABELS = 5
"""Labels of a task."""

SMALL, LARGE = 1_000, 100_000
"""Workers of the two crowds."""

STEP = 65_536
"""Tasks scored at a time, as a table is."""

KEYS = class_keys([0, 1], "coin")


@dataclass(frozen=True)
class Crowd:
    """A simulated crowd's labels in codes, and how many workers it has."""

    workers: int
    batch: LabelBatch

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self.batch.labels.size


@dataclass(frozen=True)
class Line:
    """What a stage costs a label in the small and in the large crowd, in nanoseconds."""

    name: str
    small: float
    large: float | None = None


def simulate(workers: int, tasks: int) -> Crowd:
    """Labels of five different workers a task; names of tasks are their numbers."""
    rng = np.random.default_rng(workers)
    who = rng.integers(workers, size=(tasks, LABELS), dtype=np.int32)
    while True:
        ordered = np.sort(who, axis=1)
        repeats = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
        if not repeats.any():
            break
        who[repeats] = rng.integers(workers, size=(int(repeats.sum()), LABELS), dtype=np.int32)
    truth = rng.integers(2, size=(tasks, 1))
    right = rng.random((tasks, LABELS)) < 0.5 + rng.uniform(size=workers)[who] / 2
    said = np.where(right, truth, 1 - truth).astype(np.int32)
    starts = np.arange(0, tasks * LABELS + 1, LABELS)
    names = pl.Series("task", np.arange(tasks))
    return Crowd(workers, LabelBatch(starts, who.ravel(), said.ravel(), tasks=names))


def ready(crowd: Crowd, made: cs.Estimator) -> cs.Estimator:
    """An estimator that knows the names of workers and classes and nothing else."""
    for who in range(crowd.workers):
        made._workers.add(who)
    for label in (0, 1):
        made._classes.add(label)
    made._make_room()
    return made


def empty_sums(crowd: Crowd) -> AgreementSums:
    """Sums with room for the crowd."""
    sums = AgreementSums()
    sums.make_room(crowd.workers, 2)
    return sums


@contextmanager
def cores(number: int) -> Iterator[None]:
    """Let tables be worked on in so many threads."""
    with mock.patch.dict(os.environ, CROWDSTREAM_THREADS=str(number)):
        yield


def least(
    run: Callable[[], object], times: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds of the fastest of several runs."""
    taken = []
    for _ in range(times):
        start = clock()
        run()
        taken.append(clock() - start)
    return min(taken)


def least_fresh(
    prepare: Callable[[], Callable[[], object]],
    times: int,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """The same of runs that need a preparation each, which is not timed."""
    return min(least(prepare(), 1, clock) for _ in range(times))


def each(seconds: float, crowd: Crowd) -> float:
    """Nanoseconds a label."""
    return seconds / crowd.labels * 1e9


# The stages of a pass over a table --------------------------------------------------------------


def in_steps(batch: LabelBatch, work: Callable[[LabelBatch, Floats], None]) -> None:
    """Go through a table as the estimators do: a piece at a time."""
    scores = np.empty((min(STEP, len(batch)), 2))
    for at in range(0, len(batch), STEP):
        here = batch.part(at, min(at + STEP, len(batch)))
        work(here, scores[: len(here)])


def deciding(score: Callable[[LabelBatch, Floats], None], size: int) -> Callable[..., None]:
    """Score tasks and choose their winners."""
    votes = Votes(np.empty(size, np.int32), np.empty(size), np.empty(size), True)

    def work(here: LabelBatch, scores: Floats) -> None:
        score(here, scores)
        m = len(here)
        room = Votes(votes.winners[:m], votes.confidences[:m], votes.margins[:m], True)
        choose(here, scores, room, 2, TieRule(KEYS, False, 0), 0.0)

    return work


def count_votes(crowd: Crowd, times: int) -> float:
    """Majority vote: count and choose."""
    work = deciding(majority, STEP)
    return least(lambda: in_steps(crowd.batch, work), times)


def learn(crowd: Crowd, times: int) -> float:
    """Pass 1: the agreement sums."""

    def prepare() -> Callable[[], object]:
        sums = empty_sums(crowd)
        return lambda: sums.add(crowd.batch)

    return least_fresh(prepare, times)


def teach(crowd: Crowd, times: int) -> float:
    """Pass 2: the teacher's posteriors, added to its workers' counts."""
    reading = Reading(empty_sums(crowd))
    reading.sums.add(crowd.batch)
    reading.renew_teacher(1.0, 2)
    weights = vote_weights(np.append(reading.skills(), reading.teacher.mean), 2)
    vote = WeightedVotes(weights, np.log(reading.teacher.f))
    into = into_counts(np.zeros((crowd.workers, 2, 2)), np.zeros(2))

    def work(here: LabelBatch, scores: Floats) -> None:
        vote(here, scores)
        add_posteriors(here.coded, scores, into)

    return least(lambda: in_steps(crowd.batch, work), times)


def read(crowd: Crowd) -> Reading:
    """Teacher and students of a table, without sweeps."""
    reading = Reading(empty_sums(crowd))
    add_tasks([reading], InMemory(crowd.batch))
    fit_students([reading], InMemory(crowd.batch), 2)
    return reading


def decide(crowd: Crowd, times: int) -> float:
    """Pass 3: score by finished confusions, and choose."""
    reading = read(crowd)
    work = deciding(reading.scorer().score, STEP)
    return least(lambda: in_steps(crowd.batch, work), times)


def fit(crowd: Crowd, times: int, kind: type[cs.Estimator] = cs.Adaptive) -> float:
    """The whole of `fit`: passes, readings, the gate, sweeps where it opens; no monitors."""

    def prepare() -> Callable[[], object]:
        made = ready(crowd, kind())
        return lambda: made._model.fit(InMemory(crowd.batch))

    return least_fresh(prepare, times)


def gate(crowd: Crowd, times: int) -> float:
    """What the independence gate takes of `fit`: two fits of the sample with sweeps."""
    made = ready(crowd, cs.Adaptive())
    assert isinstance(made._model, Committee)
    keys = task_keys(crowd.batch, 0)
    some = np.argsort(keys)[: SAMPLE // LABELS]
    sample = crowd.batch.pick(some)
    model = made._model
    return least(lambda: model._measure(sample, 1), times)


def sweeps(crowd: Crowd, times: int) -> float:
    """Confusions recounted from their own posteriors until they stand still."""

    def prepare() -> Callable[[], object]:
        reading = read(crowd)
        return lambda: sweep([reading], InMemory(crowd.batch))

    return least_fresh(prepare, times)


def online(crowd: Crowd, times: int, kind: type[cs.Estimator] = cs.Adaptive) -> float:
    """Each task decided from those before it, then learnt."""

    def prepare() -> Callable[[], object]:
        made = ready(crowd, kind())
        return lambda: made._follow(crowd.batch)

    return least_fresh(prepare, times)


STAGES: dict[str, Callable[[Crowd, int], float]] = {
    "counting votes (MajorityVote)": count_votes,
    "Adaptive: learn": learn,
    "Adaptive: teach": teach,
    "Adaptive: decide": decide,
    "fit, with gate and sweeps": fit,
    "  of it the gate": gate,
    "  of it the sweeps": sweeps,
    "online: decide, then learn": online,
    "AgreementBased: fit": lambda crowd, times: fit(crowd, times, cs.AgreementBased),
}


def measure_stages(small: Crowd, large: Crowd, times: int) -> list[Line]:
    """Every stage in both crowds, on one core; their sum after the three passes."""
    found = []
    with cores(1):
        for name, run in STAGES.items():
            found.append(Line(name, each(run(small, times), small), each(run(large, times), large)))
            if name == "Adaptive: decide":
                passes = found[-3:]
                total = [
                    sum(line.small for line in passes),
                    sum(line.large or 0 for line in passes),
                ]
                found.append(Line("Adaptive: the three passes", *total))
    return found


# Rivals ------------------------------------------------------------------------------------------


def to_table(crowd: Crowd) -> pl.DataFrame:
    """The labels as a table."""
    batch = crowd.batch
    task = np.repeat(np.arange(len(batch)), batch.sizes)
    return pl.DataFrame({"task": task, "worker": batch.workers, "label": batch.labels})


def polars_majority(table: pl.DataFrame) -> pl.DataFrame:
    """Majority vote, as one would write it in polars."""
    votes = table.group_by("task", "label").len()
    return votes.sort("len", descending=True).group_by("task").first()


def rivals(small: Crowd, large: Crowd, times: int) -> list[Line]:
    """polars on both crowds; crowd-kit, if it is here, on the first 100,000 tasks of each."""
    tables = [to_table(crowd) for crowd in (small, large)]
    seconds = [least(lambda: polars_majority(t), times) for t in tables]  # noqa: B023
    found = [Line("polars, majority vote", each(seconds[0], small), each(seconds[1], large))]
    try:
        from crowdkit import aggregation
    except ImportError:
        return found
    some = [table.head(100_000 * LABELS).to_pandas() for table in tables]
    for name in ("MajorityVote", "DawidSkene"):
        made = getattr(aggregation, name)(**({"n_iter": 100} if name == "DawidSkene" else {}))
        spent = [least(lambda: made.fit_predict(t), 1) / len(t) * 1e9 for t in some]  # noqa: B023
        found.append(Line(f"crowd-kit, {name}", *spent))
    return found


# Beside the passes -------------------------------------------------------------------------------


def threads(crowd: Crowd, times: int) -> list[str]:
    """Two threads against one, by the clock on the wall, in turns."""
    told = []
    for name in ("learn", "fit"):

        def prepare(name: str = name) -> Callable[[], object]:
            made = ready(crowd, cs.Adaptive())
            if name == "fit":
                return lambda: made._model.fit(InMemory(crowd.batch))
            return lambda: made._model.sums.add(crowd.batch)

        spent = {1: np.inf, 2: np.inf}
        for _ in range(times):
            for number in spent:
                with cores(number):
                    taken = least_fresh(prepare, 1, time.perf_counter)
                spent[number] = min(spent[number], taken)
        told.append(f"two threads against one, {name}: {spent[2] / spent[1]:.2f} times as long")
    return told


def monitors(crowd: Crowd, times: int) -> list[str]:
    """Fit and learning in turn of a table with none, the standard and all monitors."""
    table = to_table(crowd)

    def bare() -> cs.Estimator:
        made = cs.Adaptive()
        made.observers = []
        return made

    kinds: dict[str, Callable[[], cs.Estimator]] = {
        "none": bare,
        "intervals": cs.Adaptive,
        "all": lambda: monitor(cs.Adaptive()),
    }
    told = []
    for verb in ("fit", "learn_many"):
        spent = {}
        for name, make in kinds.items():
            with cores(1):
                spent[name] = least_fresh(lambda: partial(getattr(make(), verb), table), times)  # noqa: B023
        told.append(
            f"{verb} of a table: {each(spent['none'], crowd):.0f} ns a label without monitors, "
            f"{spent['intervals'] / spent['none']:.2f} times that with intervals, "
            f"{spent['all'] / spent['none']:.2f} times with all"
        )
    return told


FIRST_USE = """
import time
start = time.perf_counter()
import crowdstream as cs
crowd = cs.Adaptive()
crowd.learn_one({"ann": 1, "bob": 1, "cy": 0})
crowd.predict_one({"ann": 1})
print(time.perf_counter() - start)
"""


def first_use(times: int) -> str:
    """Import and the first decision in a new process."""
    command = [sys.executable, "-c", FIRST_USE]
    runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(times + 1)]
    return f"import and first decision in a new process: {min(float(r.stdout) for r in runs):.2f} s"


UNCOMPILED = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, crowdstream as cs
from crowdstream.decisions import vote_loops
from crowdstream.models.fitting import add_tasks, fit_students
from crowdstream.models.passes import InMemory
from crowdstream.labels import ColumnNames
assert vote_loops.__file__.endswith(".py")
rng = np.random.default_rng(0)
tasks = int(sys.argv[1])
rows = [(t, int(w), int(x)) for t in range(tasks)
        for w, x in zip(rng.choice(1000, 5, replace=False), rng.integers(2, size=5))]
crowd = cs.Adaptive()
batch, _ = crowd._take_in(rows, ColumnNames(), None)
start = time.process_time()
add_tasks([crowd._reading], InMemory(batch))
fit_students([crowd._reading], InMemory(batch), 2)
crowd._decide(batch, crowd._workers, crowd._classes)
print((time.process_time() - start) / batch.labels.size * 1e9)
"""


def uncompiled(tasks: int) -> str:
    """The three passes on a copy of the package without its compiled modules."""
    home = Path(cs.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        ignore = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
        shutil.copytree(home, Path(folder, "crowdstream"), ignore=ignore)
        run = subprocess.run(
            [sys.executable, "-c", UNCOMPILED, str(tasks)],
            capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": folder},
        )  # fmt: skip
    return f"uncompiled, the three passes: {float(run.stdout):,.0f} ns a label"


# Printing ----------------------------------------------------------------------------------------


def versions() -> str:
    """Of everything that has a part in it."""
    told = [f"Python {platform.python_version()}"]
    for package in ("crowdstream", "numpy", "polars", "cython", "crowd-kit"):
        try:
            told.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            told.append(f"{package} not installed")
    return ", ".join(told)


def show(lines: list[Line], sizes: tuple[int, int]) -> Table:
    """Stages and rivals as a table."""
    title = (
        f"ns a label on one core: 2 classes, 5 labels per task, {sizes[0]:,} and {sizes[1]:,} tasks"
    )
    table = Table(title=title)
    for column in ("", f"n = {SMALL:,}", f"n = {LARGE:,}", "ratio", "to counting votes"):
        table.add_column(column, justify="right" if column else "left")
    counting = lines[0].small
    for line in lines:
        large = "" if line.large is None else f"{line.large:,.1f}"
        ratio = "" if line.large is None else f"{line.large / line.small:.2f}"
        table.add_row(line.name, f"{line.small:,.1f}", large, ratio, f"{line.small / counting:.1f}")
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the work, noisier")
    quick = parser.parse_args().quick
    console = Console(width=110)
    console.print(versions())
    tasks, times = (50_000, 1) if quick else (1_000_000, 3)
    small, large = simulate(SMALL, tasks), simulate(LARGE, tasks)
    lines = measure_stages(small, large, times) + rivals(small, large, times)
    console.print(show(lines, (tasks, tasks)))
    part = simulate(SMALL, tasks // 5)
    for line in (
        *threads(small, times),
        *monitors(part, times),
        first_use(times),
        uncompiled(200 if quick else 2_000),
    ):
        console.print(line, highlight=False)


if __name__ == "__main__":
    main()
