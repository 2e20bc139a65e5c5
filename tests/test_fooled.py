"""What gold tells of tasks that fool everybody: exact probabilities, and sentences that hold."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.gold_plan.fooled import Checked, exclusion_words, wrong_to_tell
from crowdstream.metrics.binomial import upper_tail
from crowdstream.report.told import limits

ROUNDING = 1e-12
"""Sums of at most a few hundred probabilities in double precision."""

CANNOT = "Agreement cannot show tasks that fool everybody."


def exact_tail(n: int, k: int, p: float) -> float:
    return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(k, 0), n + 1))


@pytest.mark.parametrize("n", [1, 2, 17, 60])
@pytest.mark.parametrize("p", [0.0, 1e-6, 0.03, 0.5, 0.97, 1.0])
def test_tails_are_sums_of_the_binomial(n: int, p: float) -> None:
    for k in range(-1, n + 2):
        assert upper_tail(n, k, p) == pytest.approx(exact_tail(n, k, p), abs=ROUNDING)


def test_tails_of_many_tasks_are_the_normal_ones() -> None:
    n, p = 10**8, 0.01
    sd = math.sqrt(n * p * (1 - p))
    # Edgeworth's first term is 1/(6 sd) = 0.0002 here
    assert upper_tail(n, round(n * p + 1.644854 * sd), p) == pytest.approx(0.05, abs=3e-4)


def test_power_is_that_of_all_outcomes_enumerated() -> None:
    """Every series of right and wrong gold tasks, with its probability."""
    checked, share, claimed = 9, 0.3, 0.1
    rate = claimed + share * (1 - claimed)
    asked = wrong_to_tell(checked, claimed, 0.95)
    found = alarm = 0.0
    for series in itertools.product((0, 1), repeat=checked):
        if sum(series) >= asked:
            found += math.prod(rate if x else 1 - rate for x in series)
            alarm += math.prod(claimed if x else 1 - claimed for x in series)
    assert cs.gold_power(checked, share, claimed=claimed) == pytest.approx(found, abs=ROUNDING)
    assert cs.gold_power(checked, 0.0, claimed=claimed) == pytest.approx(alarm, abs=ROUNDING)
    assert alarm <= 0.05


@pytest.mark.parametrize("claimed", [0.0, 0.01, 0.1, 0.4])
def test_a_false_alarm_is_no_likelier_than_the_level_says(claimed: float) -> None:
    for checked in range(1, 200):
        for level in (0.9, 0.95, 0.99):
            alarm = cs.gold_power(checked, 0.0, claimed=claimed, level=level)
            assert alarm <= 1 - level + ROUNDING
            asked = wrong_to_tell(checked, claimed, level)
            if asked > 1:  # and it asks for no more than it must
                assert exact_tail(checked, asked - 1, claimed) > 1 - level - ROUNDING


def test_claims_that_differ_raise_hardly_more_false_alarms_than_their_mean() -> None:
    """Exact, by convolution: each decision is wrong as often as its own confidence claims."""
    rng = np.random.default_rng(4)
    worst = 0.0
    for _ in range(300):
        claims = rng.beta(rng.choice([0.1, 0.5, 2]), rng.choice([2, 20, 100]), rng.integers(1, 90))
        chances = np.ones(1)
        for claim in claims:
            chances = np.convolve(chances, [1 - claim, claim])
        asked = wrong_to_tell(claims.size, float(claims.mean()), 0.95)
        worst = max(worst, float(chances[asked:].sum()))
    # Hoeffding's inequality begins one above the mean; below, one wrong decision is asked for, and
    # the sum of all claims is then at most −log 0.95
    assert 0.04 < worst <= -math.log(0.95)


@pytest.mark.parametrize("share", [0.05, 0.2, 1.0])
@pytest.mark.parametrize("claimed", [0.0, 0.01, 0.1])
@pytest.mark.parametrize("power", [0.5, 0.8, 0.95])
def test_no_fewer_gold_tasks_have_the_power(share: float, claimed: float, power: float) -> None:
    needed = cs.gold_to_detect(share, claimed=claimed, power=power)
    assert cs.gold_power(needed, share, claimed=claimed) >= power
    assert all(cs.gold_power(m, share, claimed=claimed) < power for m in range(needed))


def test_where_very_many_are_needed_they_are_enough_and_hardly_too_many() -> None:
    needed = cs.gold_to_detect(0.05, claimed=0.4)
    assert cs.gold_power(needed, 0.05, claimed=0.4) >= 0.8
    # beyond 500 wrong decisions not every number is tried: 2 % is what SCANNED says
    fewer = range(int(needed * 0.9), int(needed / 1.02))
    assert all(cs.gold_power(m, 0.05, claimed=0.4) < 0.8 for m in fewer)


def test_more_share_less_claim_and_less_power_need_less_gold() -> None:
    by_share = [cs.gold_to_detect(e, claimed=0.02) for e in (0.01, 0.02, 0.05, 0.1, 0.5)]
    assert by_share == sorted(by_share, reverse=True)
    by_claim = [cs.gold_to_detect(0.05, claimed=e) for e in (0.0, 0.01, 0.05, 0.2)]
    assert by_claim == sorted(by_claim)
    by_power = [cs.gold_to_detect(0.05, claimed=0.02, power=p) for p in (0.1, 0.5, 0.8, 0.99)]
    assert by_power == sorted(by_power)


def test_limits_fall_with_gold_and_rise_with_errors() -> None:
    by_tasks = [cs.fooled_limit(m, 2) for m in range(2, 300)]
    assert all(after < before for before, after in itertools.pairwise(by_tasks))
    by_wrong = [cs.fooled_limit(60, k, claimed=0.02) for k in range(61)]
    assert all(before < after for before, after in itertools.pairwise(by_wrong))
    powers = [cs.gold_power(m, 0.05) for m in range(200)]
    assert powers == sorted(powers), "where any wrong decision tells, more gold only helps"


@pytest.mark.parametrize(("checked", "wrong"), [(1, 0), (50, 0), (50, 3), (400, 20)])
def test_a_limit_is_where_so_few_errors_become_unlikely(checked: int, wrong: int) -> None:
    limit = cs.fooled_limit(checked, wrong)
    assert 1 - exact_tail(checked, wrong + 1, limit) == pytest.approx(0.05, abs=1e-9)
    assert cs.fooled_limit(checked, wrong, claimed=limit) == pytest.approx(0.0, abs=1e-9)


def test_no_wrong_decision_gives_the_known_formula() -> None:
    for m in (1, 10, 59, 1000):
        assert cs.fooled_limit(m) == pytest.approx(1 - 0.05 ** (1 / m), rel=1e-12)
    assert cs.fooled_limit(0) == cs.fooled_limit(5, 5) == 1.0


@pytest.mark.parametrize(("share", "claimed"), [(0.03, 0.0), (0.1, 0.02), (0.3, 0.1)])
def test_limits_hold_as_often_as_they_say(share: float, claimed: float) -> None:
    rng = np.random.default_rng(7)
    checked, runs = 60, 4_000
    fooled = rng.random((runs, checked)) < share
    wrong = (fooled | (rng.random((runs, checked)) < claimed)).sum(axis=1)
    limit = np.array([cs.fooled_limit(checked, k, claimed=claimed) for k in range(checked + 1)])
    held = (limit[wrong] >= share).mean()
    # exact limits hold at least as often as said; three standard errors of 4,000 runs
    assert held >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / runs)
    found = (wrong >= wrong_to_tell(checked, claimed, 0.95)).mean()
    said = cs.gold_power(checked, share, claimed=claimed)
    assert found == pytest.approx(said, abs=3.5 * math.sqrt(0.25 / runs))


def test_edges() -> None:
    assert cs.gold_to_detect(1.0) == 1
    assert cs.gold_to_detect(1.0, claimed=0.5) == 5, "0.5⁵ is the first power below 0.05"
    assert cs.gold_power(0, 0.5) == 0.0
    assert cs.gold_power(30, 0.0) == 0.0
    assert cs.gold_power(1, 1.0, claimed=0.5) == 0.0, "one wrong decision shows nothing there"
    assert cs.fooled_limit(50, 1, claimed=0.9) == 0.0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: cs.gold_to_detect(0), "share: expected a number above 0"),
        (lambda: cs.gold_to_detect(1.2), "share"),
        (lambda: cs.gold_to_detect("5 %"), "share"),  # type: ignore[arg-type]
        (lambda: cs.gold_to_detect(0.05, claimed=1), "claimed: expected a share below 1"),
        (lambda: cs.gold_to_detect(0.05, claimed=-0.1), "claimed"),
        (lambda: cs.gold_to_detect(0.05, level=0.05), "level"),
        (lambda: cs.gold_to_detect(0.05, power=1), "power"),
        (lambda: cs.gold_to_detect(1e-6, claimed=0.3), "1,000,000,000 gold tasks can find"),
        (lambda: cs.gold_power(-1, 0.1), "checked"),
        (lambda: cs.gold_power(10.5, 0.1), "checked: expected a whole"),  # type: ignore[arg-type]
        (lambda: cs.fooled_limit(10, 11), "wrong: expected a whole number from 0 to 10"),
        (lambda: cs.fooled_limit(10, 1, claimed=1.0), "claimed"),
    ],
)
def test_nonsense_is_refused(call: object, said: str) -> None:
    assert callable(call)
    with pytest.raises(cs.InputError, match=said):
        call()


def test_the_table_of_the_docs_is_what_the_functions_say() -> None:
    """The doctest beside it prints the numbers; people read the table."""
    page = (Path(__file__).parents[1] / "docs" / "uncertainty.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+)(?: %)? \|((?: [\d,]+ \|){6})$", page, re.MULTILINE)
    assert len(rows) == 5
    for claimed, cells in rows:
        told = [int(cell.replace(",", "")) for cell in cells.split("|")[:-1]]
        assert told == [
            cs.gold_to_detect(share, claimed=int(claimed) / 100, power=power)
            for power in (0.8, 0.95)
            for share in (0.1, 0.05, 0.02)
        ]


# Sentences ---------------------------------------------------------------------------------------


def crowd_with_traps(
    share: float, seed: int, tasks: int = 500
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels of a good crowd, and the truth: of a share of the tasks it is the other class."""
    made = cs.simulate(12, tasks, p=0.2, per_task=7, seed=seed)
    truths = made.truths()
    trap = np.random.default_rng(seed).random(tasks) < share
    other = truths["label"].replace_strict({"0": "1", "1": "0"})
    return made.labels(), truths.with_columns(
        label=truths["label"].zip_with(pl.Series(~trap), other)
    )


def line_of(labels: pl.DataFrame, **known: pl.DataFrame) -> str:
    pytest.importorskip("altair")
    found = limits(cs.make_report(labels, **known).findings)  # type: ignore[arg-type]
    said = [line for line in found if line.startswith(CANNOT)]
    return said[0] if said else ""


def test_a_report_without_gold_says_how_much_is_needed() -> None:
    labels, _ = crowd_with_traps(0.0, 1)
    decided = cs.Adaptive().fit_predict(labels).filter("settled")
    claimed = float((1 - decided["confidence"]).mean())
    needed = cs.gold_to_detect(0.05, claimed=claimed)
    assert f" {needed} gold tasks, drawn at random from the {decided.height} " in line_of(labels)


# Told 20 gold tasks or more, an estimator lowers its confidences where there are traps, and hardly
# anything is settled: half of 38 are 19.
@pytest.mark.parametrize(("how", "number"), [("gold", 38), ("truth", 80)])
def test_a_report_with_gold_says_what_is_excluded_and_finds_traps(how: str, number: int) -> None:
    labels, truths = crowd_with_traps(0.0, 1)
    assert "no sign of such tasks" in line_of(labels, **{how: truths.sample(number, seed=1)})
    labels, truths = crowd_with_traps(0.2, 1)
    line = line_of(labels, **{how: truths.sample(number, seed=1)})
    assert "the crowd is wrong together, or its confidences are too high" in line
    assert float(re.findall(r"above ([\d.]+) %", line)[0]) > 20


def test_gold_that_unsettles_everything_is_not_asked_for_again() -> None:
    labels, truths = crowd_with_traps(0.3, 1)
    assert not line_of(labels, gold=truths.sample(100, seed=1))


def test_nothing_is_left_to_say_where_everything_was_checked() -> None:
    labels, truths = crowd_with_traps(0.1, 2)
    assert not line_of(labels, truth=truths)


def test_traps_are_seldom_seen_where_there_are_none() -> None:
    """The sentence is a test at 5 %: on crowds whose confidences hold it is wrong less often."""
    alarms, runs = 0, 60
    for seed in range(runs):
        labels, truths = crowd_with_traps(0.0, seed, tasks=200)
        decided = cs.Adaptive().fit_predict(labels).filter("settled").head(60)
        rows = decided.join(truths.select("task", truth="label"), on="task")
        wrong = int((rows["label"] != rows["truth"]).sum())
        claimed = float((1 - rows["confidence"]).mean())
        alarms += "wrong together" in exclusion_words(Checked(rows.height, wrong, claimed))
    # 5 % of 60 are 3; 8 or more of 60 are seen once in a hundred at that rate
    assert alarms < 8
