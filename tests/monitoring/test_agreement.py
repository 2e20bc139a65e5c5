"""Coefficients of agreement equal those of the packages that papers use, and their sums add up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa, fleiss_kappa

import crowdstream as cs
from crowdstream.errors import StateError
from crowdstream.labels.batch import LabelBatch
from crowdstream.metrics.kappa import cohen_kappas
from crowdstream.monitoring import Agreement, coefficients
from crowdstream.monitoring.agreement import add_up, coefficients_of, crowd_coefficients
from crowdstream.monitoring.coefficients import (
    SCALES,
    Coefficients,
    Scale,
    read_coefficients,
    weights_of,
)
from crowdstream.monitoring.estimator_view import observer_of
from crowdstream.sums import coincidences
from crowdstream.sums.coincidences import Coincidences

Whole = NDArray[np.int64]
IRRCAC = json.loads(Path(__file__).parents[1].joinpath("fixtures/irrcac.json").read_text())

EXACT = 1e-10
"""What the issue asks for; both sides round sums of at most a few thousand numbers, to 1e-14."""


def random_table(seed: int, *, gaps: bool = True) -> Whole:
    """Labels by task and worker, −1 where there is none; every class is named."""
    rng = np.random.default_rng(seed)
    tasks, workers, classes = (int(rng.integers(*ends)) for ends in ((10, 80), (2, 8), (2, 14)))
    truth = rng.choice(classes, tasks, p=rng.dirichlet(np.ones(classes) * 2))
    said = np.where(
        rng.random((tasks, workers)) < 0.5,
        truth[:, None],
        rng.integers(0, classes, (tasks, workers)),
    )
    if gaps:
        said[rng.random((tasks, workers)) < rng.choice([0.1, 0.4, 0.7])] = -1
    _, codes = np.unique(said[said >= 0], return_inverse=True)
    said[said >= 0] = codes
    return said


def batch_of(said: Whole) -> LabelBatch:
    task, worker = np.nonzero(said >= 0)
    starts = np.concatenate([[0], np.cumsum((said >= 0).sum(axis=1))]).astype(np.int64)
    return LabelBatch(starts, worker.astype(np.int32), said[task, worker].astype(np.int32))


def sums_of(said: Whole, classes: int | None = None) -> Coincidences:
    return add_up(batch_of(said), int(said.max()) + 1 if classes is None else classes)


def measured(said: Whole, scale: str = "nominal") -> Coefficients:
    return read_coefficients(sums_of(said).read(), scale=scale, level=0.95)


# Equal to others ------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(25))
def test_alpha_is_that_of_krippendorff(seed: int, scale: Scale) -> None:
    said = random_table(seed)
    cells = np.where(said < 0, np.nan, said).T
    wanted = krippendorff.alpha(reliability_data=cells, level_of_measurement=scale)
    assert measured(said, scale).alpha.value == pytest.approx(wanted, abs=EXACT)


def test_alpha_on_an_interval_scale_goes_by_the_places() -> None:
    said, places = random_table(3), np.array([1.0, 2.0, 5.0, 5.5, 9.0, 12.0, 20.0, 21.0, 30.0])
    places = np.concatenate([places, 40.0 + np.arange(9)])[: said.max() + 1]
    cells = np.where(said < 0, np.nan, places[said]).T
    wanted = krippendorff.alpha(reliability_data=cells, level_of_measurement="interval")
    found = read_coefficients(sums_of(said).read(), scale="interval", places=places, level=0.95)
    assert found.alpha.value == pytest.approx(wanted, abs=EXACT)


@pytest.mark.parametrize("seed", range(25))
def test_fleiss_kappa_is_that_of_statsmodels_on_full_tables(seed: int) -> None:
    said = random_table(seed, gaps=False)
    counts = np.stack([(said == k).sum(axis=1) for k in range(said.max() + 1)], axis=1)
    assert measured(said).fleiss.value == pytest.approx(fleiss_kappa(counts), abs=EXACT)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("number", range(len(IRRCAC["tables"])))
def test_all_coefficients_are_those_of_irrcac(number: int, scale: str) -> None:
    kept: dict[str, Any] = IRRCAC["tables"][number]
    said, wanted = np.array(kept["said"]), kept[scale]
    found = measured(said, scale)
    # Its alpha has linear weights there, which are not Krippendorff's for an ordinal scale.
    names = ("fleiss", "gwet", "raw") if scale == "ordinal" else ("alpha", "fleiss", "gwet", "raw")
    for name in names:
        assert getattr(found, name).value == pytest.approx(wanted[name], abs=EXACT), name
    if ((said >= 0).sum(axis=1) >= 2).all():
        # Where tasks have one label, irrCAC takes the number of the others for known beforehand.
        for name in ("fleiss", "gwet"):
            error = getattr(found, name).error
            assert error == pytest.approx(wanted[f"{name}_error"], abs=EXACT), name


def test_some_tables_of_irrcac_have_gaps_and_some_have_none() -> None:
    full = [(np.array(one["said"]) >= 0).all() for one in IRRCAC["tables"]]
    assert 5 < sum(full) < len(full) - 5


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("seed", range(20))
def test_cohens_kappa_and_its_error_are_those_of_others(seed: int, weights: str | None) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    one = rng.integers(0, k, 60)
    other = np.where(rng.random(60) < 0.6, one, rng.integers(0, k, 60))
    table = np.zeros((1, k, k), np.int32)
    np.add.at(table[0], (one, other), 1)
    found = cohen_kappas(table, weights_of(weights or "identity", np.arange(k, dtype=float)))
    assert found.kappa[0] == pytest.approx(
        cohen_kappa_score(one, other, labels=range(k), weights=weights), abs=EXACT
    )
    kept = cohens_kappa(table[0], wt=weights)
    assert found.kappa[0] == pytest.approx(kept.kappa, abs=EXACT)
    assert found.error[0] == pytest.approx(kept.std_kappa, abs=EXACT)


# Sums ----------------------------------------------------------------------------------------


def packed(sums: Coincidences) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in sums.pack().items()}


@given(seed=st.integers(0, 10**6), cut=st.floats(0.0, 1.0))
@settings(max_examples=60, deadline=None)
def test_merged_parts_are_equal_to_the_bit(seed: int, cut: float) -> None:
    said = random_table(seed)
    k, at = int(said.max()) + 1, int(cut * len(said))
    left, right = sums_of(said[:at], k), Coincidences()
    # The right part met its classes in another order.
    codes = np.random.default_rng(seed).permutation(k)
    right.make_room(k)
    right.add(batch_of(np.where(said[at:] < 0, -1, np.argsort(codes)[said[at:]])))
    left.merge(right, codes)
    assert packed(left) == packed(sums_of(said, k))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_what_is_taken_back_leaves_no_trace(seed: int) -> None:
    said = random_table(seed)
    k, half = int(said.max()) + 1, len(said) // 2
    sums = sums_of(said, k)
    sums.add(batch_of(said[half:]), -1)
    assert packed(sums) == packed(sums_of(said[:half], k))


@given(seed=st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_classes_that_come_later_change_nothing(seed: int) -> None:
    said = random_table(seed)
    k, sums = int(said.max()) + 1, Coincidences()
    for row in said:
        sums.make_room(int(row.max()) + 1)
        sums.add(batch_of(row[None]))
    sums.make_room(k)
    assert packed(sums) == packed(sums_of(said, k))


@pytest.mark.parametrize("seed", range(10))
def test_moments_of_many_classes_and_of_few_give_the_same_errors(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = np.minimum(random_table(seed), 8)
    with_fourth = measured(said)
    sums = sums_of(said).read()
    assert sums.fourth is not None
    one = np.eye(said.max() + 1)
    one[0, 0] = 1.0 + 1e-15  # no longer the identity: read from fourth moments
    direct = coefficients._moments_of(sums, np.eye(len(one)))
    derived = coefficients._moments_of(sums, one)
    for kept, made in zip(direct, derived, strict=True):
        assert kept is not None
        assert made == pytest.approx(kept, rel=1e-12)  # sums of whole numbers below 2**53
    monkeypatch.setattr(coincidences, "FEW", 1)
    assert sums_of(said).read().fourth is None
    assert measured(said) == with_fourth


def test_of_more_than_a_hundred_classes_nothing_is_kept() -> None:
    sums = sums_of(random_table(1))
    sums.make_room(101)
    assert not sums.kept
    assert sums.pack()["pairs"].size == 0
    sums.add(batch_of(random_table(1)))
    assert coefficients_of(sums, list(range(101))) is None
    again = Coincidences()
    again.unpack(sums.pack())
    assert not again.kept


def test_sums_that_may_have_overflowed_give_no_interval() -> None:
    sums = Coincidences()
    sums.make_room(2)
    many = 60_000  # labels on each of two tasks: their fourth powers do not fit
    said = np.zeros(2 * many, np.int32)
    said[:many:3] = 1
    with np.errstate(over="ignore"):
        sums.add(LabelBatch(np.array([0, many, 2 * many]), np.zeros(2 * many, np.int32), said))
    found = read_coefficients(sums.read(), level=0.95)
    assert found.alpha.value is not None
    assert found.alpha.low is None
    assert found.raw.value == pytest.approx((5 / 9 + 1) / 2, abs=1e-4)  # 1/m of 60,000


def test_saved_sums_that_do_not_fit_are_refused() -> None:
    good = sums_of(random_table(2)).pack()
    for name in good:
        broken = {**good, name: good[name][:-1] if name != "sizes" else good[name][:0]}
        with pytest.raises(StateError, match="do not fit"):
            Coincidences().unpack(broken)
        with pytest.raises(StateError, match="do not fit"):
            Coincidences().unpack({key: good[key] for key in good if key != name})


# Beside an estimator -------------------------------------------------------------------------


def labels_of(seed: int = 0, tasks: int = 300) -> Any:
    return cs.simulate(7, tasks, p=0.25, classes=3, answer_rate=0.6, seed=seed).labels()


def sums_in(crowd: cs.Estimator) -> dict[str, bytes]:
    return packed(observer_of(crowd, Agreement).sums)


@pytest.mark.filterwarnings("ignore::crowdstream.errors.NotIdentifiable")
def test_a_stream_a_table_and_merged_parts_have_the_same_coefficients_to_the_bit() -> None:
    labels = labels_of()
    whole = cs.monitor(cs.Adaptive()).fit(labels)
    stream = cs.Stream(cs.monitor(cs.Adaptive()), settle=None)
    for task, worker, label in labels.sort("worker", maintain_order=True).iter_rows():
        stream.observe(task, worker, label)
    for task in list(stream.open_tasks):
        stream.close(task)
    parts = [cs.monitor(cs.Adaptive()) for _ in range(3)]
    numbers = labels["task"].cast(int)
    for k, part in enumerate(parts):
        part.learn_many(labels.filter(numbers % 3 == k).reverse())
    merged = parts[0]
    merged += parts[1]
    merged += parts[2]
    loaded = cs.Estimator.load(merged.to_bytes())
    wanted = crowd_coefficients(whole)
    assert wanted is not None
    for crowd in (stream.crowd, merged, loaded):
        assert crowd_coefficients(crowd) == wanted
    table = cs.agreement(labels)
    assert table.coefficients == wanted
    assert cs.agreement(stream).coefficients == wanted
    for scale in ("ordinal", "interval"):
        assert cs.agreement(merged, scale=scale).coefficients == (
            cs.agreement(labels, scale=scale).coefficients
        )


def test_a_task_taken_back_leaves_the_sums_of_before() -> None:
    crowd = cs.monitor(cs.Adaptive()).fit(labels_of())
    before = sums_in(crowd)
    crowd.learn_one({"w0": "0", "w1": "1", "w2": "0"})
    assert sums_in(crowd) != before
    crowd.unlearn_one({"w0": "0", "w1": "1", "w2": "0"})
    assert sums_in(crowd) == before


def test_asking_changes_nothing() -> None:
    crowd = cs.monitor(cs.Adaptive()).fit(labels_of())
    before = crowd.to_bytes()
    cs.agreement(crowd)
    cs.agreement(crowd, scale="ordinal", order=["0", "1", "more", "2"])
    assert crowd.to_bytes() == before


def test_without_monitors_the_answer_names_the_fix() -> None:
    with pytest.raises(cs.InputError, match=r"monitor\(crowd\)"):
        cs.agreement(cs.Adaptive().fit(labels_of()))
