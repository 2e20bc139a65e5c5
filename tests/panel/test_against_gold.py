"""Judges against gold: each number against its definition, and who is told apart."""

from __future__ import annotations

import numpy as np
import pytest

import crowdstream as cs
from crowdstream.metrics.kappa import cohen_kappa
from crowdstream.metrics.paired import holm, items_to_tell, mcnemar

RNG = np.random.default_rng(0)
TRUTH: dict[str | int, str | int | bool] = {
    k: "pass" if RNG.random() < 0.6 else "fail" for k in range(200)
}


def panel(*rates: float) -> dict[int, dict[str, str]]:
    other = {"pass": "fail", "fail": "pass"}
    return {
        k: {f"j{i}": other[t] if RNG.random() < p else t for i, p in enumerate(rates)}
        for k, t in ((int(k), str(t)) for k, t in TRUTH.items())
    }


def test_numbers_are_what_they_are_called() -> None:
    votes = panel(0.1, 0.3)
    found = cs.judges_against_gold(votes, TRUTH)
    assert (found.positive, found.tasks, found.best) == ("pass", 200, "j0")
    for each in found.workers:
        said = np.array([votes[int(k)][str(each.worker)] for k in TRUTH])
        truth = np.array(list(TRUTH.values()))
        assert each.accuracy.value == pytest.approx((said == truth).mean())
        assert each.tpr is not None
        assert each.tnr is not None
        assert each.tpr.value == pytest.approx((said == "pass")[truth == "pass"].mean())
        assert each.tnr.value == pytest.approx((said == "fail")[truth == "fail"].mean())
        assert sum(map(sum, each.confusion)) == 200
        assert each.accuracy.low < each.accuracy.value < each.accuracy.high
    assert found.alike == []


def test_kappa_and_its_error_are_those_of_the_paper() -> None:
    """Fleiss, Cohen and Everitt (1969), the example of their section on kappa."""
    shares = np.array([[0.53, 0.05, 0.02], [0.11, 0.14, 0.05], [0.01, 0.06, 0.03]])
    found = cohen_kappa(200 * shares)
    assert found is not None
    assert found[0] == pytest.approx(0.429, abs=5e-4)  # as printed
    assert found[1] ** 2 == pytest.approx(0.002885, abs=2e-5)  # as printed
    assert cohen_kappa([[5, 0], [0, 0]]) is None


def test_kappa_covers_in_simulations() -> None:
    """Of 300 samples of 40 items 95 % intervals hold kappa; 0.92 is 0.95 less 2.4 errors."""
    held, rng = 0, np.random.default_rng(1)
    for _ in range(300):
        truth = rng.random(40) < 0.5
        said = np.where(rng.random(40) < 0.9, truth, ~truth)
        votes = {k: {"j": str(int(each))} for k, each in enumerate(said)}
        gold: dict[str | int, str | int | bool] = {
            k: str(int(each)) for k, each in enumerate(truth)
        }
        kappa = cs.judges_against_gold(votes, gold).workers[0].kappa
        assert kappa is not None
        held += kappa.low <= 0.8 <= kappa.high  # 2 · 0.9 − 1
    assert held / 300 >= 0.92


def test_a_judge_who_agrees_on_all_has_an_interval() -> None:
    votes = {int(k): {"j": str(t)} for k, t in TRUTH.items()}
    [judge] = cs.judges_against_gold(votes, dict(list(TRUTH.items())[:30])).workers
    assert judge.kappa is not None
    assert judge.kappa.value == 1.0
    assert judge.kappa.low < 0.9


def test_judges_alike_are_not_told_apart_and_more_gold_is_named() -> None:
    found = cs.judges_against_gold(panel(0.2, 0.2, 0.21), TRUTH)
    assert len(found.alike) == 2
    assert "more gold items would tell it" in repr(found) or "do not differ" in repr(found)
    first = found.pairs[0]
    assert first.low <= first.difference <= first.high
    assert not first.apart


def test_the_number_of_items_tells_judges_apart_four_times_in_five() -> None:
    """0.8 by definition; of 400 draws the share scatters by 0.02."""
    needed = items_to_tell(14, 6, 100)
    assert needed is not None
    rng = np.random.default_rng(2)
    told = 0
    for _ in range(400):
        won, lost, _ = rng.multinomial(needed, [0.14, 0.06, 0.8])
        told += mcnemar(won, lost) <= 0.05
    assert told / 400 == pytest.approx(0.8, abs=0.06)
    assert items_to_tell(5, 5, 100) is None


def test_holm_is_between_no_correction_and_bonferroni() -> None:
    values = [0.001, 0.2, 0.03, 0.04]
    for given, corrected in zip(values, holm(values), strict=True):
        assert given <= corrected <= min(4 * given, 1.0)


def test_gold_is_matched_by_spelling_and_leftovers_are_named() -> None:
    votes = {"q1": {"a": "Yes", "b": "No"}, "q2": {"a": "No", "b": "No"}}
    found = cs.judges_against_gold(votes, {"Q1": "yes", "q2": "maybe", "q9": "no"})
    assert found.tasks == 2
    assert any("'q9'" in note for note in found.notes)
    assert any("'maybe'" in note for note in found.notes)


def test_several_classes_have_recalls() -> None:
    made = cs.simulate(3, 200, p=0.2, classes=4)
    found = cs.judges_against_gold(made.labels(), made.truths())
    assert found.positive is None
    assert set(found.workers[0].recall) == {"0", "1", "2", "3"}
    assert cs.judges_against_gold(made.labels(), made.truths(), positive="2").workers[0].tpr


def test_bad_input_is_said() -> None:
    with pytest.raises(cs.InputError, match="positive"):
        cs.judges_against_gold(panel(0.1), TRUTH, positive="spam")
    with pytest.raises(cs.InputError, match="gold"):
        cs.judges_against_gold(panel(0.1), {"zz": "pass"})
    with pytest.raises(cs.InputError, match="gold"):
        cs.judges_against_gold(panel(0.1), {})
