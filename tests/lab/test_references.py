"""Every baseline errs where a reference implementation of it errs; deviations are said in words.

The figures are error rates on the paper's sets of two classes, measured with implementations that
are not this package's: the authors' own programs where there are any, else ones written from the
papers. Those of the centred SVD on RTE, Temp and Web are of a dense decomposition by numpy, steps
as in Zhang and others' program.
"""

from __future__ import annotations

import functools

import pytest

from crowdstream.metrics import error_rate
from crowdstream_lab import baselines
from crowdstream_lab.baselines.common import Baseline
from crowdstream_lab.compare.methods import BASELINE, METHODS
from crowdstream_lab.datasets import Dataset, binary, load
from tests.real import needs_data

SETS = "bird", "rte", "temp", "web"

REFERENCES: dict[str, tuple[float | None, ...]] = {
    "Dalvi": (0.278, 0.090, 0.058, 0.089),
    "DawidSkene": (0.102, 0.073, 0.058, 0.052),
    "GhoshKaleMcAfee": (0.278, 0.491, 0.567, 0.025),
    "KargerOhShah": (0.278, 0.503, 0.431, 0.017),
    "KargerOhShahSVD": (0.111, 0.398, 0.063, 0.038),
    "MeanField": (0.278, 0.075, 0.061, 0.056),
    "MinimaxEntropy": (0.083, 0.076, 0.056, None),
    "OneCoinEM": (0.278, 0.075, 0.061, 0.057),
    "OneCoinMAP": (0.278, 0.075, 0.061, 0.057),
    "SpectralEM": (0.102, 0.071, 0.061, None),
    "TriangularEstimation": (0.176, 0.258, 0.113, 0.059),
}
"""Of each method, in the order of `SETS`; None where no figure is known."""

ROUNDED = 0.0006
"""Figures have three digits, and a coin may count a tie otherwise."""

WITHIN = dict.fromkeys(REFERENCES, ROUNDED) | {
    # Two of Web's 2,653 tasks, whatever the clip of the error rates; we do not know why.
    "TriangularEstimation": 0.001,
    # Workers are dealt into groups at random: of twelve seeds three give Bird's 0.102 and nine a
    # task of its 108 more; and the reference stops EM after ten rounds, which is one of Temp's 462.
    "SpectralEM": 0.01,
    # Another estimate, by a prior; it differs where workers have few answers, as most of Web's.
    "OneCoinMAP": 0.005,
}
"""How far an error rate may be from its reference: the digits, unless there is a reason."""

CASES = [
    (name, crowd, figure)
    for name, figures in REFERENCES.items()
    for crowd, figure in zip(SETS, figures, strict=True)
    if figure is not None
]


@functools.cache
def two_classes(name: str) -> Dataset:
    return binary(load(name))


@needs_data
@pytest.mark.parametrize(("name", "crowd", "figure"), CASES)
def test_a_baseline_errs_as_its_reference_does(name: str, crowd: str, figure: float) -> None:
    data = two_classes(crowd)
    found = getattr(baselines, name)().fit_predict(data.labels)
    assert error_rate(found, data.gold) == pytest.approx(figure, abs=WITHIN[name])


@needs_data
@pytest.mark.parametrize("seed", range(5))
def test_the_sign_of_messages_does_not_hang_on_their_first_draw(seed: int) -> None:
    data = two_classes("temp")
    found = baselines.KargerOhShah(seed=seed).fit_predict(data.labels)
    # A sign by majority vote would make 0.569 of it.
    assert error_rate(found, data.gold) == pytest.approx(0.431, abs=ROUNDED)


def test_what_departs_from_its_paper_says_so_in_a_phrase() -> None:
    kinds = [getattr(baselines, name) for name in baselines.__all__]
    for kind in kinds:
        if issubclass(kind, Baseline):
            assert len(kind.deviation) <= 64, kind  # a cell of a table
            assert "\n" not in kind.deviation
    as_published = {k.__name__ for k in kinds if issubclass(k, Baseline) and not k.deviation}
    assert {"OneCoinEM"} <= as_published
    for beyond in (baselines.OverlapTriangularEstimation, baselines.StreamingDawidSkene):
        assert beyond.deviation.startswith("ours")


def test_the_benchmark_can_say_of_each_baseline_how_it_departs() -> None:
    said = {method.name: method.deviation() for method in METHODS}
    assert said["one-coin-em"] == said["agreement"] == ""
    assert said["karger-oh-shah"] == baselines.KargerOhShah.deviation
    compared = {method.kind for method in METHODS if method.family == BASELINE}
    assert compared >= REFERENCES.keys()
