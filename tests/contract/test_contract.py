"""Every estimator keeps the contract, in every mode it has; one that does not is caught."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream import checks

ESTIMATORS = [
    cs.MajorityVote(),
    cs.MajorityVote(ties="lowest"),
    cs.AgreementBased(),
    cs.AgreementBased(ties="lowest", seed=5),
    cs.AgreementBased(shrinkage=0, clip=0),
    cs.AgreementBased(forgetting=0.05),
    cs.AgreementBased(forgetting=0.9),
    cs.AgreementBased(answer_rate=0.7),
    cs.AgreementBased(answer_rate=0.7, shrinkage=0, forgetting=0.02),
    cs.Adaptive(),
    cs.Adaptive(watch=False),
    cs.AgreementBased(watch=True),
    cs.Adaptive(ties="lowest", seed=5),
    cs.Adaptive(forgetting=0.05),
    cs.Adaptive(forgetting=0.9),
    cs.CentredAgreement(),
    cs.CentredAgreement(forgetting=0.05),
    cs.StreamingDawidSkene(),
    cs.StreamingDawidSkene(forgetting=0.05),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_keeps_the_contract(estimator: cs.Estimator) -> None:
    checks.check_estimator(estimator)


def test_every_estimator_is_listed() -> None:
    assert {type(e).__name__ for e in ESTIMATORS} == set(cs.Estimator._kinds)


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
        "check_predicting_changes_nothing",
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
            if broken == "check_predicting_changes_nothing":
                self.intake_.rows += 1
            if broken == "check_probabilities":
                return {label: p / 2 for label, p in found.items()}
            return found

        def __iadd__(self, other: Leaky) -> Leaky:
            if broken == "check_merging":
                self.learn_one({"ghost": "c0"})
            return super().__iadd__(other)

        def unlearn_one(
            self,
            answers: cs.Answers,
            *,
            gold: cs.ClassLabel | None = None,
            place: int | None = None,
            receipt: bytes | None = None,
            fresh: Collection[cs.LabellerId] | None = None,
        ) -> None:
            super().unlearn_one(answers, gold=gold, place=place, receipt=receipt, fresh=fresh)
            if broken == "check_unlearning":
                super().learn_one(answers)

        def learn_one(
            self,
            answers: cs.Answers,
            *,
            gold: cs.ClassLabel | None = None,
            place: int | None = None,
            fresh: Collection[cs.LabellerId] | None = None,
        ) -> None:
            super().learn_one(answers, gold=gold, place=place, fresh=fresh)
            if broken == "check_no_global_randomness":
                np.random.random()

        def learn_many(self, data: object, *, gold: object = None) -> None:
            super().learn_many(data, gold=gold)  # type: ignore[arg-type]
            if broken == "check_memory_is_bounded" and self.clock_ > 200:
                super().learn_many([(0, f"ghost {self.clock_}", "c0")])

        def stream_many(
            self, data: object, *, gold: object = None, settle: float = 0.95
        ) -> pl.DataFrame:
            found = super().stream_many(data, gold=gold, settle=settle)  # type: ignore[arg-type]
            if broken == "check_stream_decides_as_one":
                return found.with_columns(pl.col("confidence") * (1 - 1e-15))
            return found

    with pytest.raises(AssertionError, match=broken):
        checks.check_estimator(Leaky())
