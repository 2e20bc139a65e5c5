from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.tool import csv_of, gold_of


@pytest.fixture
def label_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A CSV file of the labels that the test's module calls ROWS."""
    path = tmp_path / "labels.csv"
    path.write_bytes(csv_of(request.module.ROWS))
    return path


@pytest.fixture
def gold(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The correct labels of the tasks in ROWS."""
    path = tmp_path / "gold.csv"
    path.write_bytes(gold_of(request.module.ROWS))
    return path
