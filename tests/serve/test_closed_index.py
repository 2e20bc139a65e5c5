"""Every closed task is found at its place, and hardly any other name anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from crowdstream.serve import closed_index
from crowdstream.serve.closed_index import ClosedIndex


def test_every_task_is_found_where_it_was_put() -> None:
    index, chance = ClosedIndex(), np.random.default_rng(1)
    places: dict[str, tuple[int, int]] = {}
    for row in range(1, 400):
        names = [f"task {row} {i}" for i in range(int(chance.integers(1, 200)))]
        index.add(names, row)
        places |= {name: (row, i) for i, name in enumerate(names)}
    assert len(index) == len(places)
    assert index.find(places) == {name: [place] for name, place in places.items()}
    assert index.find([f"other {i}" for i in range(10_000)]) == {}


def test_what_is_loaded_is_what_was_added() -> None:
    rows = [(row, [f"t{row}-{i}" for i in range(50)]) for row in range(100)]
    added, loaded = ClosedIndex(), ClosedIndex()
    for row, names in rows:
        added.add(names, row)
    loaded.load(rows)
    every = [name for _, names in rows for name in names]
    assert added.find(every) == loaded.find(every)
    assert len(added) == len(loaded) == len(every)
    loaded.add(["one more"], 7)
    assert loaded.find(["one more", "t3-4"]) == {"one more": [(7, 0)], "t3-4": [(3, 4)]}


def test_names_that_share_a_hash_are_all_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def poor(name: Any) -> int:
        return int(name[1:]) % 10

    monkeypatch.setattr(closed_index, "hash", poor, raising=False)
    index = ClosedIndex()
    for row in range(30):
        index.add([f"t{row}"], row)
    for row in range(30):
        assert (row, 0) in index.find([f"t{row}"])[f"t{row}"]
