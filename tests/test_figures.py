"""Figures in README and promises.md are those that the benchmark gives."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import crowdstream as cs
from tests.real import needs_data

ROOT = Path(__file__).parents[1]
DEVELOPED = re.compile(
    r"On the 18 public sets it was developed on,? (?:it|`Adaptive`) errs on (?P<adaptive>[\d.]+) %,"
    r"(?: `AgreementBased` on (?P<agreement>[\d.]+) %,)? majority vote on (?P<majority>[\d.]+) %"
)
KEPT_ASIDE = re.compile(
    r"On 22 real (?:crowds|sets) (?:that were )?kept aside .*? errs on (?P<adaptive>[\d.]+) % of "
    r"the tasks.*? majority vote on (?P<majority>[\d.]+) %; on one of them it is 6\.7 points worse"
)
PAGES = ["README.md", "docs/promises.md"]


def text_of(page: str) -> str:
    file = ROOT / page
    if not file.is_file():
        pytest.skip("README and docs are not in this distribution")
    return " ".join(file.read_text().split())


def figures(pattern: re.Pattern[str], page: str) -> dict[str, str]:
    found = pattern.search(text_of(page))
    assert found is not None, f"{page} no longer has the sentence that this test checks"
    return {name: shown for name, shown in found.groupdict().items() if shown is not None}


def published() -> dict[str, float]:
    """Return the mean final error of each method that ran on all sets, by docs/benchmark.md."""
    table = text_of("docs/benchmark.md").partition("## All labels in")[2].partition("## ")[0]
    return {name: float(x) for name, x in re.findall(r"\| (\S+) \| 18/18 \| (0\.\d+) \|", table)}


@pytest.mark.parametrize("page", PAGES)
def test_errors_on_public_sets_are_those_of_the_benchmark(page: str) -> None:
    measured = published()
    for name, shown in figures(DEVELOPED, page).items():
        assert shown == f"{100 * measured[name]:.1f}", f"{page}: {name}"


def test_rivals_are_counted_as_the_benchmark_counts_them() -> None:
    told = text_of("docs/benchmark.md")
    found = re.search(r"Of (\d+) published algorithms, .*? (\d+) are better than adaptive", told)
    apart = re.search(r"(\d+) cannot be told apart from it \(.*?\), and (\d+) are worse", told)
    assert found is not None
    assert apart is not None
    all_of_them, better = found.groups()
    alike, worse = apart.groups()
    assert better == "0"
    said = text_of("docs/promises.md")
    assert f"Of {all_of_them} published algorithms none is better there" in said
    assert f"{alike} cannot be told apart from it and {worse} are worse" in said


@pytest.mark.parametrize("page", PAGES)
def test_errors_on_sets_kept_aside_are_those_of_the_protocol(page: str) -> None:
    protocol = text_of("docs/benchmark-protocol.md")
    for shown in figures(KEPT_ASIDE, page).values():
        assert f"{float(shown) / 100:.3f}" in protocol


@needs_data
def test_the_benchmark_is_of_this_code() -> None:
    """Tolerance 0.0006: half a digit of what README shows, and ties count as the coin fell."""
    from crowdstream_lab import datasets
    from crowdstream_lab.compare import dataset_error, ready

    names = datasets.available()
    if len(names) < 18:
        pytest.skip("some of the 18 public sets are not at hand")
    measured = published()
    kinds = {"adaptive": cs.Adaptive, "majority": cs.MajorityVote}
    for name, kind in kinds.items():
        sets = [ready(datasets.load(each)) for each in names]
        errors = [
            dataset_error(
                kind().fit_predict(data.labels, as_classes=True), data, majority=name == "majority"
            )
            for data in sets
        ]
        assert np.mean(errors) == pytest.approx(measured[name], abs=6e-4), name
