"""The long table of runs → means per data set, a summary per method, and a test of the ranks."""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from crowdstream_lab.compare.measures import COLUMNS, OK
from crowdstream_lab.compare.methods import REFERENCE, YARDSTICK, Method
from crowdstream_lab.compare.paired import Difference, paired, paired_tasks
from crowdstream_lab.datasets import Dataset

if TYPE_CHECKING:
    pass


SCHEMA = 1
"""Version of the JSON object; raised when a field changes its meaning."""


LEVEL = 0.05
"""Level of the test of mean ranks, as in Demšar's guide to comparing classifiers."""


DIGITS = 12
"""Errors that agree to so many digits are one rank: they differ by rounding only."""


PAIRED = {
    "excess": ("final", YARDSTICK),
    "behind": ("final", REFERENCE),
    "online_excess": ("prequential", YARDSTICK),
    "online_behind": ("prequential", REFERENCE),
    "brier_behind": ("brier", REFERENCE),
}
"""Columns of the summary that are mean differences: of what, and against which method."""


VERDICTS = {"behind": "verdict", "online_behind": "online_verdict", "brier_behind": "brier_verdict"}
"""Those that have a word, and its column."""


EQUIVALENT = {"behind": "equivalent", "online_behind": "online_equivalent"}
"""Those of error rates, which may be equivalent, and the column that tells."""


@dataclass(frozen=True, eq=False)
class Study:
    """Comparison: its sets and methods, its plan, and the long table of results.

    ``plan`` has shuffles, seed, limit and runs. ``outcomes``, for a single set, has the errors of
    its tasks: methods are then paired over tasks.
    """

    sets: Sequence[Dataset]
    methods: Sequence[Method]
    rows: pl.DataFrame
    command: str
    plan: Mapping[str, float] = field(default_factory=dict)
    outcomes: pl.DataFrame | None = None

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

    def differences(self, column: str, against: str) -> dict[str, dict[str, float]]:
        """Method → set → what it has there less what ``against`` has, on the sets both ran on."""
        table = self.by_set().select("set", "method", pl.col(column).alias("value")).drop_nulls()
        other = table.filter(pl.col("method") == against).select("set", other="value")
        found: dict[str, dict[str, float]] = {}
        for name, method, value, base in table.join(other, on="set").iter_rows():
            found.setdefault(method, {})[name] = value - base
        return found

    def summary(self) -> pl.DataFrame:
        """One row per method, the best first; a mean error only if it ran on every set.

        ``excess`` is the mean over sets of the final error less majority vote's, ``behind`` less
        adaptive's, ``online_excess`` and ``online_behind`` those of the online error, each with its
        paired standard error, over the sets or, with a single set, over its tasks; ``verdict`` and
        ``online_verdict`` are ``behind`` and ``online_behind`` in words, ``equivalent`` and
        ``online_equivalent`` tell whether these are within half a point at 95 %.
        """
        done = self.by_set().filter(pl.col("status") == OK)
        everywhere = pl.len() == len(self.sets)
        table = done.group_by("method", "family", maintain_order=True).agg(
            pl.len().alias("sets"),
            *(
                pl.when(everywhere).then(pl.col(x).mean()).alias(x)
                for x in ("prequential", "final")
            ),
            (pl.col("excess") > 10**-DIGITS).sum().alias("worse"),
            pl.col("ece", "brier", "distance").mean(),
            pl.col("ns_fit", "ns_stream", "memory_mb").median(),
        )
        ranks = mean_ranks(done.select("set", "method", error="final"), len(self.sets))
        table = table.join(ranks, on="method", how="left", maintain_order="left")
        for name, (column, against) in PAIRED.items():
            table = self._compared(table, name, column, against)
        return table.sort("final", "excess", nulls_last=True, maintain_order=True)

    def _compared(self, table: pl.DataFrame, name: str, column: str, against: str) -> pl.DataFrame:
        """The table with a mean difference, its standard error and, if asked for, the word."""
        found = self.differences(column, against)
        pairs: Sequence[Difference | None]
        if self.outcomes is not None and column in self.outcomes.columns:
            pairs = [
                paired_tasks(self._by_task(method, column, against)) if method in found else None
                for method in table["method"]
            ]
        else:
            pairs = [paired(list(found.get(m, {}).values())) for m in table["method"]]
        columns = [
            pl.Series(name, [None if x is None else x.mean for x in pairs], pl.Float64),
            pl.Series(f"{name}_se", [None if x is None else x.error for x in pairs], pl.Float64),
        ]
        if name in VERDICTS:
            words = [
                "" if x is None or method == against else x.verdict
                for method, x in zip(table["method"], pairs, strict=True)
            ]
            columns.append(pl.Series(VERDICTS[name], words, pl.String))
        if name in EQUIVALENT:
            same = [
                x is not None and method != against and x.equivalent
                for method, x in zip(table["method"], pairs, strict=True)
            ]
            columns.append(pl.Series(EQUIVALENT[name], same, pl.Boolean))
        return table.with_columns(columns)

    def _by_task(self, method: str, column: str, against: str) -> list[float]:
        """Errors of a method on the tasks of the single set less those of another."""
        assert self.outcomes is not None
        orders = self.outcomes.group_by("method", "task").agg(pl.col(column).mean())
        one, other = (orders.filter(pl.col("method") == name) for name in (method, against))
        both = one.join(other, on="task", suffix="_other")
        return (both[column] - both[f"{column}_other"]).to_list()

    def unfinished(self) -> list[str]:
        """Return a line for each run that did not end, with the reason."""
        table = self.by_set().filter(pl.col("status") != OK)
        grouped = table.group_by("method", "status", "note", maintain_order=True).agg("set")
        return [
            f"{method} on {', '.join(names)}: {status}" + (f" ({note})" if note else "")
            for method, status, note, names in grouped.iter_rows()
        ]

    def ranking(self) -> Ranking | None:
        """Test if mean ranks differ by more than chance; None with under two sets or methods."""
        done = self.by_set().filter(pl.col("status") == OK)
        return rank_test(done.select("set", "method", error="final"), len(self.sets))

    def report(self) -> dict[str, object]:
        """Return the output of ``--json``."""
        ranking = self.ranking()
        return {
            "schema_version": SCHEMA,
            "command": self.command,
            "versions": versions(),
            "plan": dict(self.plan),
            "sets": [{"name": data.name, **sizes(data)} for data in self.sets],
            "methods": [
                {
                    "name": m.name,
                    "family": m.family,
                    "class": f"{m.module}.{m.kind}",
                    "algorithm": m.algorithm,
                    "deviation": m.deviation(),
                }
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
    """Return the sizes of a set."""
    return {
        "tasks": data.labels["task"].n_unique(),
        "labels": data.labels.height,
        "workers": data.labels["worker"].n_unique(),
        "classes": data.labels["label"].n_unique(),
        "gold_tasks": data.gold.height,
    }


def versions() -> dict[str, str]:
    """Return the versions of what took part, and of the machine."""
    found = {"python": platform.python_version()}
    for name in ("crowdstream", "numpy", "polars", "scipy", "crowd-kit", "scikit-learn"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found | {"machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"}
