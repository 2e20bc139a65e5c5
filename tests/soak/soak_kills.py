"""Five hundred kills: 0 lost, 0 doubled, 0 changed. `python -m pytest tests/soak/soak_kills.py`."""

from __future__ import annotations

from pathlib import Path

from tests.cli.killing import Damage, survives


def test_five_hundred_kills_lose_nothing_double_nothing_and_change_nothing(tmp_path: Path) -> None:
    assert survives(tmp_path, tasks=20_000, kills=500, seed=2) == Damage(0, 0, 0)
