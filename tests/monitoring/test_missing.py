"""Who does not answer is counted; that it depends on the class is said only where it does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdstream.labels import code_rows
from crowdstream.monitoring.missing import flip_notes, missing_notes, missing_verdicts

Row = tuple[int, str, str | None]


def panel(
    seed: int, *, tasks: int = 200, judges: int = 6, hard: float = 0.1, easy: float = 0.1
) -> tuple[list[Row], pl.DataFrame]:
    """Verdicts of a panel of which each judge fails at random, the first more on "fail"."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(tasks) < 0.3, "fail", "pass")
    rows: list[Row] = []
    for t in range(tasks):
        for j in range(judges):
            rate = hard if j == 0 and truth[t] == "fail" else easy
            said = str(truth[t]) if rng.random() < 0.9 else "pass"
            rows.append((t, f"j{j}", None if rng.random() < rate else said))
    return rows, pl.DataFrame({"task": range(tasks), "label": truth})


def accused(seed: int, **how: float) -> list[str]:
    rows, decided = panel(seed, **how)  # type: ignore[arg-type]
    found = missing_verdicts(code_rows(rows), decided)
    return [] if found is None else found.drop_nulls("on_class")["worker"].to_list()


def test_nobody_is_said_to_leave_out_a_class_by_chance() -> None:
    """200 panels in which whether a judge answers does not depend on the class."""
    wrong = sum(
        bool(accused(seed, hard=rate, easy=rate)) for seed in range(100) for rate in (0.05, 0.3)
    )
    assert wrong <= 0.05 * 200


def test_a_judge_that_fails_on_one_class_is_named_first() -> None:
    found = [accused(seed, hard=0.4, easy=0.05) for seed in range(50)]
    assert sum(names == ["j0"] for names in found) >= 45
    rows, decided = panel(1, hard=0.5, easy=0.05)
    note = missing_notes(missing_verdicts(code_rows(rows), decided))[0]
    assert note.startswith("j0 gave no answer on ")
    assert "of those decided 'fail'" in note


def test_a_crowd_of_which_each_task_asks_a_part_has_nothing_missing() -> None:
    rng = np.random.default_rng(0)
    rows = [(t, f"w{w}", "x") for t in range(100) for w in rng.permutation(10)[:5]]
    decided = pl.DataFrame({"task": range(100), "label": ["x"] * 100})
    assert missing_verdicts(code_rows(rows), decided) is None
    rows = [(t, f"w{w}", "x") for t in range(100) for w in rng.permutation(10)[:9]]
    assert missing_verdicts(code_rows(rows), decided) is None  # nine of ten, on every task


def test_rows_that_are_not_there_count_in_a_full_panel() -> None:
    rows = [(t, f"w{w}", "x") for t in range(100) for w in range(5) if not (w == 0 and t < 20)]
    decided = pl.DataFrame({"task": range(100), "label": ["x"] * 100})
    found = missing_verdicts(code_rows(rows), decided)
    assert found is not None
    assert found.select("worker", "asked", "missing").rows() == [("w0", 100, 20)]
    assert missing_notes(found) == ["tasks without an answer: w0 20.0 %"]


@pytest.mark.parametrize("rows", [[], [("t", "w", None)], [("t", "w", "x")]])
def test_tables_without_anything_to_tell_tell_nothing_wrong(
    rows: list[tuple[str, str, str | None]],
) -> None:
    decided = pl.DataFrame({"task": ["t"], "label": ["x"]})
    found = missing_verdicts(code_rows(rows), decided)
    assert found is None or found["share"].to_list() == [1.0]
    assert flip_notes(None) == []
