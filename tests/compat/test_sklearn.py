"""Our estimators as a scikit-learn classifier: its own checks, and its tools around it."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import crowdstream as cs
from crowdstream.compat.sklearn import CrowdClassifier

NOT_APPLICABLE = {
    "check_classifiers_train": "X is not made of answers there, and y is unrelated to its numbers",
    "check_classifiers_classes": "y is text there, and a class is a number as it is in X",
    "check_supervised_y_no_nan": "NaN in y says that a truth is not known",
}
"""Checks of scikit-learn that cannot hold where X has the classes themselves."""


@pytest.mark.filterwarnings("ignore::crowdstream.errors.NotIdentifiable")
@pytest.mark.filterwarnings("ignore::crowdstream.errors.ManyClasses")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [CrowdClassifier()], expected_failed_checks=lambda _: NOT_APPLICABLE
)
def test_scikit_learns_own_checks(estimator: CrowdClassifier, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def made() -> tuple[NDArray[Any], NDArray[Any]]:
    """Answers of 9 workers to 300 tasks, a third of them missing, and the truths."""
    draw = np.random.default_rng(5)
    truth = draw.integers(0, 3, 300)
    error = np.array([0.05, 0.1, 0.2, 0.3, 0.5, 0.6, 0.6, 0.6, 0.6])
    wrong = (truth[:, None] + draw.integers(1, 3, (300, 9))) % 3
    answers = np.where(draw.random((300, 9)) < error, wrong, truth[:, None]).astype(float)
    answers[draw.random((300, 9)) < 1 / 3] = np.nan
    return answers, truth


def test_it_beats_the_majority_of_the_same_answers(made: tuple[Any, Any]) -> None:
    X, y = made  # noqa: N806
    ours = CrowdClassifier().fit(X)
    votes = CrowdClassifier(cs.MajorityVote()).fit(X)
    assert ours.score(X, y) > votes.score(X, y) + 0.03
    assert ours.classes_.tolist() == [0, 1, 2]
    assert ours.predict_proba(X).sum(axis=1) == pytest.approx(1.0)


def test_it_decides_what_the_estimator_decides(made: tuple[Any, Any]) -> None:
    X, _ = made  # noqa: N806
    rows = [(t, w, int(X[t, w])) for t, w in zip(*np.nonzero(~np.isnan(X)), strict=True)]
    wanted = cs.Adaptive().fit(rows).predict_proba_many(rows)
    found = CrowdClassifier().fit(X).predict_proba(X)
    columns = [str(c) for c in range(3)]
    assert found[wanted["task"].to_numpy()] == pytest.approx(wanted[columns].to_numpy())


def test_known_truths_teach(made: tuple[Any, Any]) -> None:
    X, y = made  # noqa: N806
    known = np.where(np.arange(len(y)) < 60, y, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.errors.SureInDoubt)
        taught = CrowdClassifier().fit(X, known)
    evidence = taught.crowd_.workers()["evidence"].to_list()
    assert set(evidence) == {"gold"}
    assert set(CrowdClassifier().fit(X, np.full(len(y), -1)).crowd_.workers()["evidence"]) != {
        "gold"
    }


def test_the_mark_of_no_answer_is_yours(made: tuple[Any, Any]) -> None:
    X, _ = made  # noqa: N806
    wanted = CrowdClassifier().fit(X).predict_proba(X)
    for mark in (-1, 99):
        marked = np.where(np.isnan(X), mark, X).astype(int)
        crowd = CrowdClassifier(missing=mark).fit(marked)
        assert crowd.predict_proba(marked) == pytest.approx(wanted)


def test_a_task_without_an_answer_has_the_prior(made: tuple[Any, Any]) -> None:
    X, _ = made  # noqa: N806
    crowd = CrowdClassifier().fit(X)
    blank = np.full((1, 9), np.nan)
    unseen = np.where(np.isnan(X[:1]), np.nan, 7.0)
    prior = list(crowd.crowd_.predict_proba_one({}).values())
    assert sorted(crowd.predict_proba(blank)[0]) == pytest.approx(sorted(prior))
    assert crowd.predict_proba(unseen) == pytest.approx(crowd.predict_proba(blank))


def test_it_is_searched_over_cloned_and_kept(made: tuple[Any, Any]) -> None:
    X, y = made  # noqa: N806
    search = GridSearchCV(
        CrowdClassifier(), {"estimator": [cs.MajorityVote(), cs.AgreementBased()]}, cv=3
    ).fit(X, y)
    assert isinstance(search.best_estimator_.estimator, cs.AgreementBased)
    within = GridSearchCV(
        CrowdClassifier(cs.AgreementBased()), {"estimator__shrinkage": [10.0, 1e9]}, cv=2
    ).fit(X, y)
    assert within.best_params_ == {"estimator__shrinkage": 10.0}, "1e9 makes all weights alike"
    pipe = make_pipeline(FunctionTransformer(), CrowdClassifier(cs.Adaptive(seed=4)))
    assert cross_val_score(pipe, X, y, cv=3, scoring="neg_log_loss").min() > -1.0
    again = clone(pipe)[-1]
    assert again.estimator is not pipe[-1].estimator
    assert again.estimator.get_params() == pipe[-1].estimator.get_params()
    kept = pickle.loads(pickle.dumps(search.best_estimator_))
    assert kept.predict_proba(X) == pytest.approx(search.best_estimator_.predict_proba(X))


def test_what_is_no_class_is_refused() -> None:
    with pytest.raises(ValueError, match="numeric"):
        CrowdClassifier().fit([["a", "b", "a"]] * 3)
    with pytest.raises(ValueError, match="inconsistent"):
        CrowdClassifier().fit(np.zeros((4, 3)), np.zeros(3))
