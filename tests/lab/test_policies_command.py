"""`crowdstream policies`: each spends its budget, and the same seed buys the same labels."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from crowdstream_lab.policies import POLICIES
from tests.cli.tool import call, refused

GOLD = {"ho-vaughan": 10, "ho-jabbari-vaughan": 10}
"""Tasks that a policy knows the truth of, by default."""


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_buys_as_many_labels_as_it_may(tmp_path: Path, policy: str) -> None:
    target, truth, gold = tmp_path / "l.csv", tmp_path / "t.csv", GOLD.get(policy, 0)
    args = (policy, "-n", "9", "-t", "80", "-p", ".2", "--budget", "350")
    result = call("policies", *args, "-o", target, "--truth", truth)
    assert result.code == 0
    assert f"{policy}   0." in result.out
    assert "4.38" in result.out, "labels per task"
    assert ("labels on 10 tasks" in result.out) == bool(gold)
    bought, truths = pl.read_csv(target), pl.read_csv(truth)
    assert bought.height == 350
    assert not bought.select("task", "worker").is_duplicated().any()
    assert truths["task"].to_list() == list(range(80 + gold))
    right = bought.join(truths, on="task")
    # 350 labels that are wrong at a rate of 0.2: 0.1 is more than four standard errors away.
    assert 0.1 < (right["label"] != right["label_right"]).mean() < 0.3  # type: ignore[operator]
    assert call("policies", *args, "-o", "-").out == target.read_text()


def test_all_policies_stand_in_one_table_the_best_first() -> None:
    told = call("policies", "-n", "5", "-t", "60", "--seed", "2")
    rows = [line.split() for line in told.out.splitlines()]
    found = {row[0]: float(row[1]) for row in rows if row and row[0] in POLICIES}
    assert set(found) == set(POLICIES)
    assert list(found.values()) == sorted(found.values())
    assert told.out.count("3.00") == len(POLICIES), "three labels per task without --budget"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("magic",), "policies: expected uniform or"),
        (("uniform", "--budget", "0"), "--budget"),
        (("uniform", "--budget", "10001"), "--budget"),
        (("uniform", "-t", "0"), "--tasks"),
        (("uniform", "-t", "10000000"), "--tasks"),
        (("uniform", "-n", "0"), "--budget"),
        (("-o", "l.csv"), "--output: expected one policy, found 5"),
        (("--truth", "t.csv"), "--truth: expected one policy, found 5"),
        (("uniform", "-o", "l.xls"), "--output"),
    ],
)
def test_what_cannot_be_bought_is_refused(args: tuple[str, ...], words: str) -> None:
    refused(call("policies", *args), words)
