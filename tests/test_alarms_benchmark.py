"""`benchmarks/alarms.py` measures what it says, on fewer and smaller runs."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.benchmarks import load_benchmark


@pytest.fixture(scope="module")
def measured() -> ModuleType:
    return load_benchmark("alarms")


@pytest.mark.parametrize("name", ["stationary", "small", "uneven"])
def test_what_a_table_asks_of_workers_who_do_not_change_holds(
    measured: ModuleType, name: str
) -> None:
    assert measured.main(["--quick", name]) == 0


def test_delays_of_a_jump_are_printed(
    measured: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured.main(["--quick", "delays"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("n=10")]
    assert len(rows) == 2
    assert all(row.split()[-1] == "1.00" for row in rows)  # all four jumps were confirmed


def test_an_alarm_is_held_against_the_truth(measured: ModuleType) -> None:
    wrong = measured.np.array([0.0] * 40 + [1.0] * 20)
    alarm = measured.DriftAlarm(50, "ann", "worse", 0.1, 0.9, 9.0, 10, everyone=False)
    assert measured.verdict(alarm, wrong, at=50, first=0, last=60) == "confirmed"
    assert measured.verdict(alarm, wrong, at=12, first=0, last=15) == "unknown"
    assert measured.verdict(alarm, wrong[::-1], at=30, first=0, last=60) == "wrong way"
