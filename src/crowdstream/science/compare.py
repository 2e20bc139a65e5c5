"""Every method on every data set: errors, calibration, speed and memory, in tables and a page.

Each method meets each set in a process of its own, so that one that is slow, hungry or broken
costs a line of the table and not the run. Knows nothing of the command line.
"""

from __future__ import annotations

import base64
import contextlib
import difflib
import html
import importlib
import importlib.metadata
import importlib.util
import multiprocessing
import os
import pickle
import platform
import signal
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdstream.errors import CrowdstreamError, InputError
from crowdstream.estimators import AgreementBased
from crowdstream.science.calibration import brier, calibration_error
from crowdstream.science.datasets import Dataset
from crowdstream.science.experiments.page import STYLE, save_figure
from crowdstream.science.scoring import expected_error

if TYPE_CHECKING:
    import altair as alt

Floats = NDArray[np.float64]

SCHEMA = 1
"""Version of the JSON object; raised when a field changes its meaning."""

RUNS = 5
"""A method is timed over so many runs, of which the quickest counts: others can only add to it."""

SLOW = 2.0
"""Once they took this many seconds together, it is not run again."""

WARM_TASKS = 20
"""Tasks a method meets before it is measured, so that loading and compiling do not count."""

NOTE = 120
"""Characters of a broken method's own words that are shown."""

LEVEL = 0.05
"""Of the test whether mean ranks differ, as in Demšar's guide to comparing classifiers."""

DIGITS = 12
"""Errors that agree to so many digits are one rank: they differ by rounding only."""

OURS, BASELINE, CROWDKIT = "crowdstream", "baseline", "crowd-kit"
OK, TOO_LARGE, OVER_LIMIT, TWO_ONLY, FAILED = (
    "ok",
    "too large",
    "over the time limit",
    "for two classes only",
    "failed",
)
FILE = "file"
"""The order of the tasks as the labels' file has them."""

YARDSTICK = "majority"
"""The method that all others are held against; it is always among them."""


# Methods -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Method:
    """A class with ``fit_predict(labels)``, found by name when it is needed.

    ``two_only``: refuses more than two classes. ``heads``: counts heads, so that what a tie costs
    is known exactly for any number of classes.
    """

    name: str
    family: str
    module: str
    kind: str
    two_only: bool = False
    heads: bool = False

    def installed(self) -> bool:
        """Whether it is there; rivals are looked for but not loaded, which takes seconds."""
        if self.family == CROWDKIT:
            return importlib.util.find_spec("crowdkit") is not None
        try:
            return hasattr(importlib.import_module(self.module), self.kind)
        except ModuleNotFoundError:
            return False

    def make(self) -> Any:
        """A new one, as it is by default."""
        return getattr(importlib.import_module(self.module), self.kind)()


def _baseline(name: str, kind: str) -> Method:
    return Method(name, BASELINE, "crowdstream.science.baselines", kind)


def _crowdkit(kind: str, *, two_only: bool = False, heads: bool = False) -> Method:
    return Method(f"ck:{kind}", CROWDKIT, "crowdkit.aggregation", kind, two_only, heads)


METHODS = (
    Method(YARDSTICK, OURS, "crowdstream.estimators", "MajorityVote", heads=True),
    Method("agreement", OURS, "crowdstream.estimators", "AgreementBased"),
    Method("centred", OURS, "crowdstream.estimators", "CentredAgreement"),
    Method("adaptive", OURS, "crowdstream.estimators", "Adaptive"),
    _baseline("dawid-skene", "DawidSkene"),
    _baseline("one-coin-em", "OneCoinEM"),
    _baseline("spectral-em", "SpectralEM"),
    _baseline("minimax-entropy", "MinimaxEntropy"),
    _baseline("raykar", "Raykar"),
    _baseline("belief-propagation", "BeliefPropagation"),
    _baseline("mean-field", "MeanField"),
    _baseline("karger-oh-shah", "KargerOhShah"),
    _baseline("ghosh-kale-mcafee", "GhoshKaleMcAfee"),
    _baseline("dalvi", "Dalvi"),
    _baseline("spectral-meta-learner", "SpectralMetaLearner"),
    _baseline("triangular", "TriangularEstimation"),
    _baseline("welinder-perona", "WelinderPerona"),
    _baseline("recursive-em", "RecursiveEM"),
    _baseline("streaming-ds", "StreamingDawidSkene"),
    _baseline("sbic", "SBIC"),
    _baseline("one-pass-vote", "OnePassAgreementVote"),
    _crowdkit("MajorityVote", heads=True),
    _crowdkit("DawidSkene"),
    _crowdkit("OneCoinDawidSkene"),
    _crowdkit("GLAD"),
    _crowdkit("MACE"),
    _crowdkit("MMSR"),
    _crowdkit("Wawa"),
    _crowdkit("ZeroBasedSkill"),
    _crowdkit("KOS", two_only=True),
)
"""All that are known. Those that need more than labels (Hui and Walter's populations, the oracles'
truths) are not comparable and not here."""


def choose(names: Sequence[str] | None) -> list[Method]:
    """The methods of these names and the yardstick, or all that are installed."""
    if names is None:
        return [method for method in METHODS if method.installed()]
    by_name = {m.name: m for m in METHODS if m.family == CROWDKIT or m.installed()}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InputError("methods", f"some of {', '.join(by_name)}", repr(name) + hint)
        if not by_name[name].installed():
            raise InputError(
                f"method {name!r}", "crowd-kit: pip install 'crowdstream[bench]'", "none"
            )
    return [method for method in METHODS if method.name in {YARDSTICK, *names}]


# Measuring ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """What one method did on one order of one set; None where there is nothing to say.

    ``prequential`` and ``final`` are shares of wrong decisions; ``ece`` and ``brier`` are of the
    final ones. Times are nanoseconds a label, ``memory_mb`` is in 2²⁰ bytes.
    """

    set: str
    method: str
    order: str
    status: str = OK
    note: str = ""
    prequential: float | None = None
    final: float | None = None
    ece: float | None = None
    brier: float | None = None
    ns_fit: float | None = None
    ns_stream: float | None = None
    memory_mb: float | None = None


COLUMNS = {
    name: pl.Float64 if "float" in str(kind) else pl.String
    for name, kind in Row.__annotations__.items()
}
"""Of the long table."""


def ready(data: Dataset) -> Dataset:
    """The set as all methods can take it: one label a worker and task (the last), gold for these.

    So that none is held to account for rows that another reads otherwise.
    """
    labels = data.labels.drop_nulls().unique(["task", "worker"], keep="last", maintain_order=True)
    gold = data.gold.join(labels.select("task").unique(), on="task", how="semi")
    if not gold.height:
        raise InputError("gold", "tasks that have labels", "none in common with the labels")
    return replace(data, labels=labels, gold=gold)


def shuffled(labels: pl.DataFrame, seed: int) -> pl.DataFrame:
    """The labels with their tasks in another order, each task's together."""
    tasks = labels["task"].unique(maintain_order=True)
    place = np.random.default_rng(seed).permutation(len(tasks))
    places = pl.DataFrame({"task": tasks, "place": place})
    return labels.join(places, on="task").sort("place", maintain_order=True).drop("place")


def error_rate(decisions: pl.DataFrame, data: Dataset, *, heads: bool = False) -> float:
    """The share of the tasks with gold that are decided wrongly, ties in expectation.

    A tie of two classes counts ½. Of more, a decision by coin counts as it fell, unless ``heads``
    were counted: then it is known among how many classes the coin chose.

    >>> from crowdstream.science.datasets import Meta
    >>> labels = pl.DataFrame({"task": ["t"] * 3, "worker": ["a", "b", "c"], "label": list("xyz")})
    >>> data = Dataset("", labels, pl.DataFrame({"task": ["t"], "label": ["x"]}), Meta(""))
    >>> fell = pl.DataFrame({"task": ["t"], "label": ["y"], "margin": [0.0]})
    >>> error_rate(fell, data), round(error_rate(fell, data, heads=True), 3)
    (1.0, 0.667)
    """
    every = data.gold.select("task").join(decisions, on="task", how="left")  # undecided: wrong
    classes = pl.concat([data.labels["label"], data.gold["label"]]).n_unique()
    return expected_error(every, data.gold, heads=data.labels if heads else None, classes=classes)


def measure(method: Method, data: Dataset, shuffles: int, seed: int) -> Iterator[Row]:
    """A method on a set, in this process: a row for the file's order, and one for each shuffle."""
    runner = _Foreign(method) if method.family == CROWDKIT else _Native(method)
    few = data.labels["task"].unique(maintain_order=True).head(WARM_TASKS)
    sample = runner.table(data.labels.filter(pl.col("task").is_in(few.implode())))
    with contextlib.suppress(Exception):  # what it has to say, it will say again below
        runner.fit(sample)
        runner.stream(sample)
    size, table = data.labels.height, runner.table(data.labels)
    before = _peak_mb(reset=True)
    found, seconds = _timed(lambda: runner.fit(table))
    memory = None if before is None else (_peak_mb() or 0.0) - before
    final = runner.decisions(found)
    row = Row(
        data.name,
        method.name,
        FILE,
        final=error_rate(final, data, heads=method.heads),
        ns_fit=seconds / size * 1e9,
        memory_mb=memory,
        **_calibration(final, data),
    )
    if not runner.online:
        yield row
        return
    said, seconds = _timed(lambda: runner.stream(table))
    prequential = error_rate(said, data, heads=method.heads)
    yield replace(row, prequential=prequential, ns_stream=seconds / size * 1e9)
    for number in range(shuffles):
        table = shuffled(data.labels, seed + number)
        final = runner.fit(table)
        yield Row(
            data.name,
            method.name,
            f"shuffle {number + 1}",
            final=error_rate(final, data, heads=method.heads),
            prequential=error_rate(runner.stream(table), data, heads=method.heads),
            **_calibration(final, data),
        )


class _Native:
    """One of this package's methods: takes a polars table, gives one of decisions."""

    def __init__(self, method: Method) -> None:
        self.make = method.make
        made = method.make()
        self.verb = next((v for v in ("stream_many", "stream_predict") if hasattr(made, v)), "")
        self.online = bool(self.verb)

    def table(self, labels: pl.DataFrame) -> Any:
        return labels

    def fit(self, table: Any) -> Any:
        return self.make().fit_predict(table)

    def stream(self, table: Any) -> Any:
        return getattr(self.make(), self.verb)(table) if self.online else None

    def decisions(self, found: Any) -> pl.DataFrame:
        decided: pl.DataFrame = found
        return decided


class _Foreign(_Native):
    """One of crowd-kit's: takes a pandas table, gives a series of labels, some probabilities."""

    def table(self, labels: pl.DataFrame) -> Any:
        import pandas as pd

        return pd.DataFrame({name: labels[name].to_list() for name in labels.columns})

    def fit(self, table: Any) -> Any:
        made = self.make()
        return made.fit_predict(table), getattr(made, "probas_", None)

    def decisions(self, found: Any) -> pl.DataFrame:
        labels, chances = found
        decided = {"task": labels.index.tolist(), "label": labels.tolist()}
        if chances is None:
            return pl.DataFrame(decided).with_columns(confidence=None, margin=None)
        best = np.sort(chances.loc[labels.index].fillna(0.0).to_numpy(float), axis=1)
        lead = best[:, -1] - best[:, -2] if best.shape[1] > 1 else best[:, -1]
        return pl.DataFrame({**decided, "confidence": best[:, -1], "margin": lead})


def _timed(run: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of its quickest run."""
    taken: list[float] = []
    while len(taken) < RUNS and sum(taken) < SLOW:
        start = time.perf_counter()
        found = run()
        taken.append(time.perf_counter() - start)
    return found, min(taken)


def _peak_mb(reset: bool = False) -> float | None:
    """The most resident memory this process had so far, or, on Linux, since the last reset."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _calibration(decisions: pl.DataFrame, data: Dataset) -> dict[str, Any]:
    if decisions["confidence"].null_count():
        return {}
    return {"ece": calibration_error(decisions, data.gold), "brier": brier(decisions, data.gold)}


# A process for each ------------------------------------------------------------------------


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
        self, method: Method, data: Dataset, shuffles: int, seed: int, limit: float
    ) -> list[Row]:
        """The rows of a method on a set."""
        if method.two_only and data.labels["label"].n_unique() > 2:
            return [Row(data.name, method.name, FILE, TWO_ONLY)]
        job = pickle.dumps((method, data, shuffles, seed))
        self.wire.send((job, limit))
        rows: list[Row] = []
        while True:
            told = self.wire.recv()
            if told is None:
                return rows
            if isinstance(told, Row):
                rows.append(told)
                continue
            order = f"shuffle {len(rows)}" if rows else FILE
            rows.append(Row(data.name, method.name, order, *told))

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
    AgreementBased().learn_one({"ann": "x", "bob": "x"})  # loads the compiler, starts no thread
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
            told = child.recv()
        except EOFError:
            return wire.send((FAILED, "its process died, perhaps for want of memory"))
        if told is None:
            return None
        wire.send(told)
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
        told = textwrap.shorten(f"{type(error).__name__}: {error}", NOTE)
        wire.send((FAILED, told))
    wire.send(None)


def compare(
    sets: Sequence[Dataset],
    methods: Sequence[Method],
    *,
    shuffles: int,
    seed: int,
    limit: float,
    tick: Callable[[str, str], None] = lambda method, name: None,
) -> pl.DataFrame:
    """The long table: a `Row` for every method, set and order.

    Online methods meet the file's order of tasks and so many ``shuffles``; ``limit`` is in seconds
    for one order; ``tick`` hears which method is next on which set.
    """
    rows: list[Row] = []
    with Laboratory(methods) as laboratory:
        for data in sets:
            for method in methods:
                tick(method.name, data.name)
                found = laboratory.run(method, data, shuffles, seed, limit)
                if method.name == YARDSTICK and found[-1].status != OK:
                    told = f"{found[-1].status} ({found[-1].note})"
                    raise CrowdstreamError(f"{YARDSTICK}, the yardstick, on {data.name}: {told}")
                rows += found
    return pl.DataFrame([asdict(row) for row in rows], COLUMNS)


# Tables ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Study:
    """What was compared, how it was asked for, and the long table of what came out."""

    sets: Sequence[Dataset]
    methods: Sequence[Method]
    rows: pl.DataFrame
    command: str

    def by_set(self) -> pl.DataFrame:
        """A row for every method and set, means over the orders; `excess` is over majority."""
        numbers = [name for name, kind in COLUMNS.items() if kind == pl.Float64]
        ended = pl.col("status") == OK
        table = self.rows.group_by("set", "method", maintain_order=True).agg(
            pl.when(ended.all())
            .then(pl.lit(OK))
            .otherwise(pl.col("status").last())
            .alias("status"),
            pl.col("note").last(),
            *(pl.when(ended.all()).then(pl.col(name).mean()).alias(name) for name in numbers),
        )
        yardstick = table.filter(pl.col("method") == YARDSTICK).select("set", majority="final")
        families = pl.DataFrame(
            [(method.name, method.family) for method in self.methods],
            ["method", "family"],
            orient="row",
        )
        table = table.join(yardstick, on="set", maintain_order="left")
        table = table.join(families, on="method", maintain_order="left")
        return table.with_columns(excess=pl.col("final") - pl.col("majority"))

    def summary(self) -> pl.DataFrame:
        """A row a method, the best first; a mean error only if it ran on every set."""
        done = self.by_set().filter(pl.col("status") == OK)
        everywhere = pl.len() == len(self.sets)
        table = done.group_by("method", "family", maintain_order=True).agg(
            pl.len().alias("sets"),
            *(
                pl.when(everywhere).then(pl.col(x).mean()).alias(x)
                for x in ("prequential", "final")
            ),
            pl.col("excess").mean(),
            (pl.col("excess") > 10**-DIGITS).sum().alias("worse"),
            pl.col("ece", "brier").mean(),
            pl.col("ns_fit", "ns_stream", "memory_mb").median(),
        )
        ranks = mean_ranks(done.select("set", "method", error="final"), len(self.sets))
        table = table.join(ranks, on="method", how="left", maintain_order="left")
        return table.sort("rank", "excess", nulls_last=True, maintain_order=True)

    def unfinished(self) -> list[str]:
        """What did not run to its end, and why: one line each."""
        table = self.by_set().filter(pl.col("status") != OK)
        grouped = table.group_by("method", "status", "note", maintain_order=True).agg("set")
        return [
            f"{method} on {', '.join(names)}: {status}" + (f" ({note})" if note else "")
            for method, status, note, names in grouped.iter_rows()
        ]

    def ranking(self) -> Ranking | None:
        """Whether mean ranks differ by more than chance; None with fewer than two of either."""
        done = self.by_set().filter(pl.col("status") == OK)
        return rank_test(done.select("set", "method", error="final"), len(self.sets))

    def report(self) -> dict[str, object]:
        """What ``--json`` prints."""
        ranking = self.ranking()
        return {
            "schema_version": SCHEMA,
            "command": self.command,
            "versions": versions(),
            "sets": [{"name": data.name, **sizes(data)} for data in self.sets],
            "methods": [
                {"name": m.name, "family": m.family, "class": f"{m.module}.{m.kind}"}
                for m in self.methods
            ],
            "summary": self.summary().to_dicts(),
            "ranking": None if ranking is None else asdict(ranking),
            "rows": self.rows.to_dicts(),
        }


@dataclass(frozen=True)
class Ranking:
    """Friedman's test that all methods rank alike, and Nemenyi's critical difference of two."""

    methods: int
    sets: int
    p_value: float
    critical_difference: float


def mean_ranks(errors: pl.DataFrame, sets: int) -> pl.DataFrame:
    """method, rank: over the sets, of the methods that have an error on each; ties share ranks.

    >>> table = {"set": list("aabb"), "method": list("xyxy"), "error": [0.1, 0.2, 0.3, 0.3]}
    >>> mean_ranks(pl.DataFrame(table), 2).rows()
    [('x', 1.25), ('y', 1.75)]
    """
    ranked = _ranked(errors, sets)
    return ranked.group_by("method", maintain_order=True).agg(pl.col("rank").mean())


def _ranked(errors: pl.DataFrame, sets: int) -> pl.DataFrame:
    rank = pl.col("error").round(DIGITS).rank("average").over("set")
    return errors.filter(pl.len().over("method") == sets).with_columns(rank.alias("rank"))


def rank_test(errors: pl.DataFrame, sets: int) -> Ranking | None:
    """Friedman's test with ties, and the critical difference of mean ranks by Nemenyi.

    References
    ----------
    Demšar. Statistical Comparisons of Classifiers over Multiple Data Sets. JMLR 7, 2006.
    """
    from scipy.stats import chi2, studentized_range

    ranked = _ranked(errors, sets)
    k = ranked["method"].n_unique()
    if k < 2 or sets < 2:
        return None
    sums = ranked.group_by("method").agg(pl.col("rank").sum())["rank"].to_numpy()
    between = float(((sums - sets * (k + 1) / 2) ** 2).sum())
    within = float((ranked["rank"].to_numpy() ** 2).sum()) - sets * k * (k + 1) ** 2 / 4
    statistic = (k - 1) * between / within if within > 0 else 0.0
    q = float(studentized_range.ppf(1 - LEVEL, k, np.inf)) / np.sqrt(2)
    return Ranking(
        k, sets, float(chi2.sf(statistic, k - 1)), float(q * np.sqrt(k * (k + 1) / (6 * sets)))
    )


def sizes(data: Dataset) -> dict[str, int]:
    """How large a set is."""
    return {
        "tasks": data.labels["task"].n_unique(),
        "labels": data.labels.height,
        "labellers": data.labels["worker"].n_unique(),
        "classes": data.labels["label"].n_unique(),
        "gold_tasks": data.gold.height,
    }


def versions() -> dict[str, str]:
    """Of what took part, and of the machine."""
    found = {"python": platform.python_version()}
    for name in ("crowdstream", "numpy", "polars", "scipy", "crowd-kit"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found | {"machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"}


# In words ----------------------------------------------------------------------------------

SUMMARY_HEAD = (
    "method",
    "sets",
    "online",
    "final",
    "− majority",
    "rank",
    "worse",
    "ECE",
    "Brier",
    "ns/label",
    "MB",
)
SET_HEAD = ("method", "online", "final", "ECE", "Brier", "ns/label", "ns/label online", "MB")

HOW = (
    "Online: the share of tasks decided wrongly when each is decided from its labels and the tasks "
    "before it; blank for methods that need all labels first. Final: all tasks decided with what "
    "all labels taught. Only tasks with gold are judged.",
    "A tie is counted in expectation: exactly where heads are counted, ½ between two classes; "
    "among more classes a weighted decision counts as the coin fell.",
    "Online methods: the mean over the file's order of tasks and random ones; others: once.",
    "− majority: the mean over its sets of a method's final error less that of majority vote. "
    "Rank: the mean over all sets, by final error, of the methods that ran on every one. Worse: "
    "sets on which majority vote errs less.",
    "ECE (ten bins) and Brier score are of the confidence in the final decisions.",
    "ns/label: wall time of fit_predict over labels, from a table with text ids (crowd-kit: a "
    f"pandas table), the quickest of up to {RUNS} runs, fewer once they took {SLOW:g} s together. "
    "MB: how far these raised the peak resident memory of a fresh process that had loaded the "
    f"method and run it on {WARM_TASKS} tasks; what that had freed and is taken again does not "
    "show, so read 0 as less than a few MB. Of both, the median over sets.",
)
"""How everything is measured; on the page and in the Markdown."""


def summary_lines(study: Study) -> list[list[str]]:
    """The summary for people, a list of cells a method."""
    total = len(study.sets)
    return [
        [
            row["method"],
            f"{row['sets']}/{total}",
            _number(row["prequential"], 4),
            _number(row["final"], 4),
            _number(row["excess"], 4, "+"),
            _number(row["rank"], 2),
            str(row["worse"]),
            _number(row["ece"], 3),
            _number(row["brier"], 3),
            _number(row["ns_fit"], 0),
            _number(row["memory_mb"], 1),
        ]
        for row in study.summary().iter_rows(named=True)
    ]


def set_lines(study: Study, name: str) -> list[list[str]]:
    """A set's table for people: the best first, then what did not run."""
    table = study.by_set().filter(pl.col("set") == name)
    return [
        [
            row["method"],
            _number(row["prequential"], 4),
            _number(row["final"], 4) if row["status"] == OK else row["status"],
            _number(row["ece"], 3),
            _number(row["brier"], 3),
            _number(row["ns_fit"], 0),
            _number(row["ns_stream"], 0),
            _number(row["memory_mb"], 1),
        ]
        for row in table.sort("final", nulls_last=True, maintain_order=True).iter_rows(named=True)
    ]


def _number(value: float | None, digits: int, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign},.{digits}f}"


def _size(data: Dataset) -> str:
    size = sizes(data)
    return (
        f"{data.meta.title}: {size['labels']:,} labels of {size['tasks']:,} tasks by "
        f"{size['labellers']:,} labellers, {size['classes']} classes, "
        f"gold for {size['gold_tasks']:,} tasks."
    )


def _verdict(ranking: Ranking | None) -> str:
    if ranking is None:
        return "Ranks are compared from two sets and two methods on."
    return (
        f"Friedman's test on {ranking.methods} methods and {ranking.sets} sets: "
        f"p = {ranking.p_value:.2g}. Mean ranks differ at the {LEVEL:g} level if more than "
        f"{ranking.critical_difference:.2f} apart (Nemenyi)."
    )


# Files -------------------------------------------------------------------------------------


def write(study: Study, folder: Path) -> None:
    """compare.csv (long), compare.json, the charts, index.html and benchmark.md."""
    import json

    study.rows.write_csv(folder / "compare.csv")
    told = json.dumps(study.report(), indent=1, ensure_ascii=False)
    (folder / "compare.json").write_text(told + "\n", encoding="utf-8")
    (folder / "benchmark.md").write_text(markdown(study), encoding="utf-8")
    table, summary, ranking = study.by_set(), study.summary(), study.ranking()
    order = summary["method"].to_list()
    pictures = [
        (
            "Final errors (dots) and online ones (rings); majority's is the line, a triangle is "
            "off the chart",
            save_figure("errors", table, draw_errors(table, order), folder),
        ),
        (
            "Mean excess of the final error over majority vote's, against time",
            save_figure("speed", summary, draw_speed(summary), folder),
        ),
    ]
    if ranking is not None:
        chart = draw_ranks(summary, ranking.critical_difference)
        pictures.insert(1, ("Mean ranks", save_figure("ranks", summary, chart, folder)))
    (folder / "index.html").write_text(page(study, pictures), encoding="utf-8")


def markdown(study: Study) -> str:
    """The benchmark as a document."""
    told = [f"{name} {version}" for name, version in versions().items()]
    parts = [
        "# Benchmark",
        f"Made by `{study.command}`; do not edit. {', '.join(told)}.",
        "## All sets",
        _markdown_table(SUMMARY_HEAD, summary_lines(study)),
        _verdict(study.ranking()),
        "## How it is measured",
        "\n".join(f"- {line}" for line in HOW),
    ]
    for data in study.sets:
        parts += [f"## {data.name}", _size(data)]
        parts.append(_markdown_table(SET_HEAD, set_lines(study, data.name)))
    if study.unfinished():
        parts += ["## Not run to the end", "\n".join(f"- {x}" for x in study.unfinished())]
    return "\n\n".join(parts) + "\n"


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("--:" for _ in head[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, rule, *lines))


def page(study: Study, pictures: Sequence[tuple[str, str]]) -> str:
    """The benchmark as a page in one file; pictures are a title and an SVG."""
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8>",
        "<meta name=viewport content='width=device-width, initial-scale=1'>",
        f"<title>Methods compared</title><style>{STYLE}{PAGE_STYLE}</style>",
        "<h1>Methods compared on crowds with a known truth</h1>",
        f"<p><code>{html.escape(study.command)}</code><br>"
        f"<span class=note>{html.escape(told)}.</span></p>",
        _html_table(SUMMARY_HEAD, summary_lines(study)),
        f"<p>{html.escape(_verdict(study.ranking()))}</p>",
        *(_figure(title, svg) for title, svg in pictures),
        "<h2>How it is measured</h2><ul class=note>",
        *(f"<li>{html.escape(line)}" for line in HOW),
        "</ul>",
    ]
    for data in study.sets:
        parts += [f"<h2>{html.escape(data.name)}</h2>", f"<p>{html.escape(_size(data))}</p>"]
        parts.append(_html_table(SET_HEAD, set_lines(study, data.name)))
    if study.unfinished():
        parts.append("<h2>Not run to the end</h2><ul>")
        parts += [f"<li>{html.escape(line)}" for line in study.unfinished()]
        parts.append("</ul>")
    return "\n".join([*parts, "</html>", ""])


PAGE_STYLE = """
td + td, th + th { text-align: right; font-variant-numeric: tabular-nums; }
code { background: #f3f3f3; padding: .1rem .3rem; } .wide { overflow-x: auto; }
"""
"""Beside that of the paper's page: columns of numbers."""


def _figure(title: str, svg: str) -> str:
    data = base64.b64encode(svg.encode()).decode()
    told = html.escape(title, quote=True)
    return f"<h2>{told}</h2><p><img alt='{told}' src='data:image/svg+xml;base64,{data}'></p>"


def _html_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
        for cells in lines
    )
    top = "".join(f"<th>{html.escape(name)}</th>" for name in head)
    return f"<div class=wide><table><tr>{top}</tr>\n{rows}</table></div>"


# Charts ------------------------------------------------------------------------------------

WORST = 2.0
"""Times majority's error that the chart of errors reaches to."""

PADDING = 20
"""Pixels around a chart: a browser's letters may be wider than those it was laid out with."""

LETTER, LINE = 6.0, 12.0
"""Pixels that a letter and a line of a dot's name take, at Vega's usual size of text."""

FAMILIES = {OURS: "#1f6feb", BASELINE: "#6e7781", CROWDKIT: "#d1730f"}
"""Colours, told apart by those who do not see red and green as well."""


def _colour() -> Any:
    import altair as alt

    scale = alt.Scale(domain=list(FAMILIES), range=list(FAMILIES.values()))
    return alt.Color(
        "family:N", title=None, scale=scale, legend=alt.Legend(orient="top", symbolOpacity=1)
    )


def draw_errors(table: pl.DataFrame, order: Sequence[str]) -> alt.TopLevelMixin:
    """A dot a method and set for the final error, a ring for the online one.

    What errs more than `WORST` times as often as majority vote is a triangle at the edge, or a
    broken method would press all others into a corner.
    """
    import altair as alt

    edge = pl.when(pl.col("majority") > 0).then(WORST * pl.col("majority")).otherwise(1.0)
    done = table.filter(pl.col("status") == OK).with_columns(
        pl.when(pl.col("final") > edge).then(pl.lit("off")).otherwise(pl.lit("on")).alias("mark"),
        pl.min_horizontal("final", edge).alias("shown"),
        pl.when(pl.col("prequential") <= edge).then("prequential").alias("ring"),
    )
    y = alt.Y("method:N", title=None, sort=list(order), axis=alt.Axis(grid=True, labelLimit=0))
    base = alt.Chart(done).encode(y=y, color=_colour())
    axis = alt.Axis(format="~%", tickCount=5)
    x = alt.X("shown:Q", title="error", axis=axis, scale=alt.Scale(zero=False))
    marks = alt.Scale(domain=["on", "off"], range=["circle", "triangle-right"])
    shape = alt.Shape("mark:N", scale=marks, legend=None)
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(x=x, shape=shape)
    rings = base.mark_point(filled=False, size=55).encode(x="ring:Q")
    rule = alt.Chart(done).mark_rule(strokeDash=[4, 3], color="#444").encode(x="min(majority):Q")
    sets = done["set"].unique(maintain_order=True).to_list()
    chart: alt.FacetChart = (
        (rule + rings + dots)
        .properties(width=250, height={"step": 15})
        .facet(facet=alt.Facet("set:N", title=None, sort=sets), columns=3)
        .resolve_scale(x="independent")
        .properties(padding=PADDING)
    )
    return chart


def draw_ranks(summary: pl.DataFrame, difference: float) -> alt.TopLevelMixin:
    """Mean ranks; those in the shaded band do not differ from the best."""
    import altair as alt

    ranked = summary.drop_nulls("rank")
    order = ranked["method"].to_list()
    best = float(ranked["rank"].to_numpy().min())
    band = pl.DataFrame({"low": [best], "high": [best + difference]})
    shade = alt.Chart(band).mark_rect(color="#1f6feb", opacity=0.1).encode(x="low:Q", x2="high:Q")
    x = alt.X(
        "rank:Q",
        title=f"mean rank; shaded: within the critical difference, {difference:.2f}, of the best",
        scale=alt.Scale(zero=False),
    )
    y = alt.Y("method:N", title=None, sort=order, axis=alt.Axis(grid=True, labelLimit=0))
    dots = alt.Chart(ranked).mark_point(filled=True, size=70, opacity=1)
    chart: alt.LayerChart = (shade + dots.encode(x=x, y=y, color=_colour())).properties(
        width=620, height={"step": 17}, padding=PADDING
    )
    return chart


def draw_speed(summary: pl.DataFrame) -> alt.TopLevelMixin:
    """Time a label against error, of the methods that ran on every set; down and left is better."""
    import altair as alt

    done = summary.drop_nulls("final")
    wide, high = 780.0, 480.0
    times, errors = done["ns_fit"].log10().to_numpy(), done["excess"].to_numpy()
    right = 10 ** (times.max() + 0.2 * max(float(np.ptp(times)), 1.0))  # room for a name
    span = [min(errors.min(), 0.0) - 0.01, max(errors.max(), 0.0) + 0.01]
    left = 10 ** (times.min() - 0.1)
    across = (times - np.log10(left)) / np.log10(right / left) * wide
    down = (span[1] - errors) / (span[1] - span[0]) * high
    line = span[1] / (span[1] - span[0]) * high
    beside = _spread(across, down, done["method"].to_list(), line)
    done = done.with_columns(name_at=span[1] - beside / high * (span[1] - span[0]))
    ticks = alt.Axis(format="~s", values=[10**k for k in range(10)])
    x = alt.X(
        "ns_fit:Q",
        title="nanoseconds a label (fit_predict, median over sets)",
        scale=alt.Scale(type="log", domain=[left, right], nice=False),
        axis=ticks,
    )
    percent = alt.Axis(format="+~%")
    scale = alt.Scale(domain=span, nice=False)
    y = alt.Y("excess:Q", title="mean final error less majority's", axis=percent, scale=scale)
    base = alt.Chart(done).encode(x=x, color=_colour())
    zero = alt.Chart(pl.DataFrame({"y": [0.0]})).mark_rule(strokeDash=[4, 3], color="#444")
    dots = base.mark_point(filled=True, size=60, opacity=1).encode(y=y)
    names = base.mark_text(align="left", dx=9, fontSize=11).encode(y="name_at:Q", text="method:N")
    threads = base.mark_rule(opacity=0.4, xOffset=0, x2Offset=8).encode(
        y=y, y2="name_at:Q", x2="ns_fit:Q"
    )
    chart: alt.LayerChart = (zero.encode(y="y:Q") + threads + dots + names).properties(
        width=wide, height=high
    )
    return chart


def _spread(across: Floats, down: Floats, names: Sequence[str], line: float) -> Floats:
    """How far down to write names right of their dots, in pixels, clear of each other and a line.

    >>> _spread(np.array([0.0, 20.0]), np.array([50.0, 50.0]), ["one", "two"], 0.0).tolist()
    [62.0, 50.0]
    """
    dot, gap = 6.0, 9.0
    taken = [(x - dot, x + dot, y) for x, y in zip(across, down, strict=True)]
    taken.append((-np.inf, np.inf, line))
    found = down.copy()
    for k in np.argsort(down, kind="stable"):
        left, right = across[k] + gap, across[k] + gap + LETTER * len(names[k])
        near = [y for start, end, y in taken if start < right and left < end]
        steps = sorted(range(-len(taken), len(taken) + 1), key=lambda n: (abs(n), -n))
        places = [down[k] + LINE / 2 * step for step in steps]
        free = (y for y in places if all(abs(y - other) >= LINE for other in near))
        found[k] = next(free, down[k])
        taken.append((left, right, found[k]))
    return found
