"""Every estimator keeps the contract, in every mode it has; one that does not is caught."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream import checks

KINDS = [
    kind
    for kind in cs.Estimator._kinds.values()
    if issubclass(kind, cs.Estimator)
    and kind.__module__.startswith("crowdstream.")
    and kind is not cs.DictEstimator  # a base, tested by a subclass below
]
MODES = [mode for kind in KINDS for mode in checks.modes(kind)]
TOGETHER = [
    cs.AgreementBased(answer_rate=0.7, shrinkage=0, clip=0, memory=50),
    cs.Adaptive(families={"w1": "x", "w6": "x"}, memory=50, ties="lowest"),
]


DECIDES_NOTHING = {
    "check_long_streams_stay_finite",
    "check_memory_is_bounded",
    "check_repeated_rows",
    "check_unlearning",
}
"""Checks that compare no decisions; they take the longest, and ties are no part of them."""


def told_apart(check: checks.ContractCheck) -> bool:
    """Whether a mode may be seen in a check: what breaks ties is seen in decisions only.

    The seed also draws samples, whose size is the same by any.
    """
    params = check.estimator.get_params()
    usual = type(check.estimator)().get_params()
    set_otherwise = {name for name in params if params[name] != usual[name]}
    by_ties_only = bool(set_otherwise) and set_otherwise <= {"ties", "seed"}
    return not (by_ties_only and check.name in DECIDES_NOTHING)


def test_what_is_not_checked_of_a_mode_is_checked_of_its_kind() -> None:
    for kind in KINDS:
        assert all(told_apart(check) for check in checks.check_estimator(kind()))
    left = [check for check in checks.check_estimator(cs.Adaptive(seed=5)) if told_apart(check)]
    every = list(checks.check_estimator(cs.Adaptive()))
    assert {check.name for check in every} - {check.name for check in left} == DECIDES_NOTHING


def is_default(estimator: cs.Estimator) -> bool:
    return repr(estimator) == repr(type(estimator)())


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, marks=() if is_default(mode) else pytest.mark.slow, id=str(check))
        for mode in MODES + TOGETHER
        for check in checks.check_estimator(mode)
        if told_apart(check)
    ],
)
def test_keeps_the_contract(check: checks.ContractCheck) -> None:
    check()


class OneVote(cs.DictEstimator):
    """The slow path over dicts: who answers first decides, unless it was found wrong by gold."""

    def learn_one(self, answers: cs.Answers, *, gold: cs.ClassLabel | None = None) -> None:
        self.seen_ = getattr(self, "seen_", 0) + len(answers)

    def predict_proba_one(self, answers: cs.Answers) -> dict[cs.ClassLabel, float]:
        labels = [label for label in answers.values() if label is not None]
        return {label: (labels.count(label) + 1.0) / (len(labels) + 3.0) for label in labels}


@pytest.mark.parametrize("check", list(checks.check_estimator(OneVote())), ids=str)
def test_two_methods_make_an_estimator(check: checks.ContractCheck) -> None:
    check()


def test_every_estimator_of_the_package_is_there() -> None:
    assert {"Adaptive", "AgreementBased", "CentredAgreement", "MajorityVote"} <= {
        kind.__name__ for kind in KINDS
    }


@pytest.fixture
def _forget_test_estimators() -> Iterator[None]:
    known = dict(cs.Estimator._kinds)
    yield
    cs.Estimator._kinds.clear()
    cs.Estimator._kinds.update(known)


@pytest.mark.usefixtures("_forget_test_estimators")
@pytest.mark.parametrize(
    "broken",
    [
        "check_asking_changes_nothing",
        "check_probabilities",
        "check_merging",
        "check_unlearning",
        "check_no_global_randomness",
        "check_memory_is_bounded",
        "check_stream_decides_as_one",
    ],
)
def test_a_broken_estimator_is_caught(broken: str) -> None:
    class Leaky(cs.MajorityVote):
        def predict_proba_one(self, answers: cs.Answers) -> dict[cs.ClassLabel, float]:
            found = super().predict_proba_one(answers)
            if broken == "check_asking_changes_nothing":
                self.intake_.rows += 1
            if broken == "check_probabilities":
                return {label: p / 2 for label, p in found.items()}
            return found

        def __iadd__(self, other: Leaky) -> Leaky:
            if broken == "check_merging":
                self.learn_one({"ghost": "c0"})
            return super().__iadd__(other)

        def unlearn_one(self, answers: cs.Answers, *, gold: cs.ClassLabel | None = None) -> None:
            super().unlearn_one(answers, gold=gold)
            if broken == "check_unlearning":
                super().learn_one(answers)

        def learn_one(self, answers: cs.Answers, *, gold: cs.ClassLabel | None = None) -> None:
            super().learn_one(answers, gold=gold)
            if broken == "check_no_global_randomness":
                np.random.random()

        def learn_many(self, data: object, **options: object) -> None:
            super().learn_many(data, **options)  # type: ignore[arg-type]
            if broken == "check_memory_is_bounded" and self.tasks_ > 200:
                super().learn_many([(0, f"ghost {self.tasks_}", "c0")])

        def stream_many(self, data: object, **options: object) -> pl.DataFrame:
            found: pl.DataFrame = super().stream_many(data, **options)  # type: ignore[arg-type]
            if broken == "check_stream_decides_as_one":
                return found.with_columns(pl.col("confidence") * (1 - 1e-9))
            return found

    [check] = [check for check in checks.check_estimator(Leaky()) if check.name == broken]
    with pytest.raises(AssertionError, match=broken):
        check()
