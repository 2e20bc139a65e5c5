"""`cs.rate`: shares, accuracies and differences from labels and gold as users have them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.simulation import simulate_dependent

MADE = cs.simulate(7, 600, p=0.25, per_task=5, classes=3, seed=1)
LABELS, TRUTHS = MADE.labels(), MADE.truths()
GOLD = TRUTHS.sample(60, seed=0)


def test_shares_add_up_by_gold_and_by_decisions() -> None:
    found = cs.rate(LABELS, GOLD)
    assert (found.tasks, found.gold_tasks, found.stratified) == (600, 60, False)
    assert sum(each.gold for each in found.rates) == pytest.approx(1.0)
    assert sum(each.decided for each in found.rates) == pytest.approx(1.0)
    decided = cs.Adaptive().fit_predict(LABELS)["label"]
    for each in found.rates:
        assert each.decided == pytest.approx((decided == each.name).mean())
        assert each.low <= each.value <= each.high
    assert max(each.worth for each in found.rates) > 60


def test_gold_does_not_teach_the_predictions_it_corrects() -> None:
    """Told the gold, the panel would be right on it, and nothing would be corrected."""
    made = simulate_dependent("tricky", 9, 600, seed=3)
    truths = made.truths()
    gold = truths.sample(100, seed=1)
    before = cs.Adaptive().fit_predict_proba(made.labels())
    found = cs.rate(made.labels(), gold)
    for each in found.rates:
        assert each.panel == pytest.approx(before[str(each.name)].mean())


def test_one_judge_gives_ppi_of_its_verdicts() -> None:
    """Whatever probability stands for a verdict, λ takes it to what `ppi-python` finds."""
    from crowdstream.rates.ppi import Sample, ppi_mean

    one = LABELS.filter(pl.col("worker") == "w0").filter(pl.col("label") != "2")
    truths = TRUTHS.join(one.select("task"), on="task").filter(pl.col("label") != "2")
    gold = truths.head(40)
    found = cs.rate(one, gold, positive="1")["1"]
    said = dict(one.select("task", "label").iter_rows())
    known = dict(gold.iter_rows())
    predicted = np.array([float(said[task] == "1") for task in known])
    rest = np.array([float(label == "1") for task, label in said.items() if task not in known])
    truth = np.array([float(label == "1") for label in known.values()])
    plain = ppi_mean(Sample(truth, predicted, rest), 1.96)
    assert found.value == pytest.approx(plain.value, abs=1e-10)


def test_a_plan_is_accounted_for() -> None:
    plan = cs.gold_needed(LABELS, 60, seed=1).drop("gold")
    filled = plan.join(TRUTHS.select("task", gold="label"), on="task")
    found = cs.rate(LABELS, filled)
    assert found.stratified
    # A plan has more doubtful tasks than there are: taken for a random sample it would be biased.
    for each in found.rates:
        share = float((TRUTHS["label"] == each.name).mean())  # type: ignore[arg-type]
        assert each.low <= share <= each.high


def test_the_accuracy_of_a_system_and_of_a_worker() -> None:
    rng = np.random.default_rng(0)
    outputs = {task: label if rng.random() < 0.8 else "0" for task, label in TRUTHS.iter_rows()}
    right = np.mean([outputs[task] == label for task, label in TRUTHS.iter_rows()])
    found = cs.rate(LABELS, GOLD, system=outputs, versus_system=TRUTHS)
    one, other, apart = found.rates
    assert one.low <= right <= one.high
    assert other.high == 1.0
    assert apart.high < 0.0
    assert "lower than of the second" in repr(found)
    worker = cs.rate(LABELS, GOLD, system="w0")
    answered = LABELS.filter(pl.col("worker") == "w0").join(TRUTHS, on="task", suffix="_true")
    share = float((answered["label"] == answered["label_true"]).mean())  # type: ignore[arg-type]
    assert worker["accuracy"].low <= share <= worker["accuracy"].high
    assert worker.tasks == answered.height


def test_the_same_system_twice_does_not_differ() -> None:
    found = cs.rate(LABELS, GOLD, versus=LABELS, versus_gold=GOLD, positive="1")
    assert [each.side for each in found.rates] == ["", "versus", "difference"]
    assert found["1"].value == 0.0
    assert "cannot be told apart" in repr(found)


def test_systems_are_paired_by_task() -> None:
    """The order of rows, and tasks of one alone, do not matter."""
    other = cs.simulate(7, 600, p=0.25, per_task=5, classes=3, seed=1)
    gold = GOLD.sample(fraction=1.0, shuffle=True, seed=3)
    mixed = other.labels().sample(fraction=1.0, shuffle=True, seed=2)
    found = cs.rate(LABELS, GOLD, versus=mixed, versus_gold=gold, positive="1")
    assert found["1"].gold == 0.0
    assert found["1"].value == pytest.approx(0.0, abs=1e-9)


def test_gold_with_a_class_that_nobody_said_is_kept() -> None:
    gold = {**dict(GOLD.iter_rows()), str(TRUTHS["task"][0]): "refused"}
    found = cs.rate(LABELS, gold)
    assert found["refused"].decided == 0.0
    assert found["refused"].gold > 0.0
    assert any("no worker has said" in note for note in found.notes)


def test_one_gold_label_says_that_it_is_few() -> None:
    found = cs.rate(LABELS, dict(GOLD.head(1).iter_rows()))
    assert any("rest on few" in note for note in found.notes)
    assert all(each.high - each.low > 0.5 for each in found.rates)


def test_gold_of_one_class_looks_like_no_random_sample() -> None:
    found = cs.rate(LABELS, TRUTHS.filter(pl.col("label") == "1").head(30))
    assert any("does not look like a random sample" in note for note in found.notes)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"versus_system": {}}, "versus_system needs system"),
        ({"versus": LABELS}, "versus and versus_gold"),
        ({"positive": "spam"}, "one of the classes"),
        ({"system": "nobody"}, "a file of outputs or a worker"),
        ({"system": {"zz": "1"}}, "outputs on tasks that have labels"),
        ({"level": 2}, "level"),
    ],
)
def test_what_does_not_go_together_is_said(more: dict[str, object], said: str) -> None:
    with pytest.raises(cs.CrowdstreamError, match=said):
        cs.rate(LABELS, GOLD, **more)  # type: ignore[arg-type]


def test_gold_of_other_tasks_is_refused() -> None:
    with pytest.raises(cs.InputError, match="no labels for task"):
        cs.rate(LABELS, {"zz": "1"})


def test_jury_and_report_have_the_rates() -> None:
    judged = cs.jury(LABELS, gold=GOLD)
    assert judged.rates is not None
    found = cs.rate(LABELS, GOLD)
    assert judged.rates.rates == found.rates
    assert "corrected (95 %)" in judged.summary()
    assert cs.jury(LABELS).rates is None
    page = cs.make_report(LABELS, gold=GOLD).html
    assert "How common each class is" in page
    assert "How common each class is" not in cs.make_report(LABELS).html


def test_jury_and_report_account_for_a_plan() -> None:
    plan = cs.gold_needed(LABELS, 60, seed=1).drop("gold")
    filled = plan.join(TRUTHS.select("task", gold="label"), on="task")
    found = cs.rate(LABELS, filled)
    assert cs.jury(LABELS, gold=filled).rates == found
    report = cs.make_report(LABELS, gold=filled).findings.rates
    assert report is not None
    assert report.stratified
