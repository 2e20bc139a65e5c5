"""Files that were saved once load for ever, or say why not; no format changes unnoticed.

``tests/golden/make.py`` makes the files, and says what each must say once it is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest

import crowdstream as cs
from crowdstream import serialization
from crowdstream.errors import StateError
from crowdstream.estimators.observer import Observer
from tests.golden import make
from tests.golden.make import BYTES, FOLDER, ON_PURPOSE, STATES

SAME_MACHINE = (FOLDER / "numerics.txt").read_text("utf-8").strip() == make.numerics()
"""Whether exp, log and matrix products give the bits here that they gave when files were made."""

CLOSE = 0.0 if SAME_MACHINE else 1e-8
"""How far a number may be from the recorded one: not at all, or (by another machine's exp and log)
as far as 40 tasks, each read from sums that hold multiples of 2⁻³², carry a last bit."""


# Listed before other tests and doctests write estimators and monitors of their own.
ESTIMATORS = [
    kind.__name__
    for kind in cs.Estimator._kinds.values()
    if kind.__module__.startswith("crowdstream.") and kind is not cs.DictEstimator
]
MONITORS = [
    kind.__name__
    for kind in Observer.kinds.values()
    if kind.__module__.startswith("crowdstream.") and not kind.__subclasses__()
]


def numbers(said: object, at: str = "") -> Iterator[tuple[str, object]]:
    """Every leaf of what a state says, and where it stands."""
    if isinstance(said, dict):
        for name, one in said.items():
            yield from numbers(one, f"{at}/{name}")
    elif isinstance(said, list):
        for number, one in enumerate(said):
            yield from numbers(one, f"{at}/{number}")
    else:
        yield at, said


def same(found: object, wanted: object) -> bool:
    if isinstance(wanted, float) and isinstance(found, float):
        return abs(found - wanted) <= CLOSE * max(1.0, abs(wanted))
    return type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("name", STATES)
def test_a_saved_state_loads_and_says_what_it_said(name: str) -> None:
    said = json.loads(make.as_json(make.said_by(cs.load(make.read_state(name)))))
    found, wanted = dict(numbers(said)), dict(numbers(make.read_said(name)))
    assert found.keys() == wanted.keys()
    differing = {at: (found[at], wanted[at]) for at in wanted if not same(found[at], wanted[at])}
    assert not differing, f"{name} says something else than when it was saved"


@pytest.mark.parametrize("name", STATES)
def test_what_was_loaded_is_saved_to_the_same_bytes(name: str) -> None:
    data = make.read_state(name)
    assert cs.load(data).to_bytes() == data, f"loading {name} lost something. {ON_PURPOSE}"


def test_the_same_labels_are_saved_to_the_same_arrays_as_ever() -> None:
    for name, saved in STATES.items():
        golden, made = make.read_state(name), saved().to_bytes()
        assert make.versions(made) == make.versions(golden), f"{name}: {ON_PURPOSE}"
        assert make.layout(made) == make.layout(golden), f"{name}: {ON_PURPOSE}"
        wanted = make.parts(golden)
        for part, found in make.parts(made).items():
            check_part(f"{name}, {part}", found, wanted[part])
        if SAME_MACHINE:
            assert made == golden, f"{name}: {ON_PURPOSE}"


def check_part(where: str, found: object, wanted: object) -> None:
    if not isinstance(found, np.ndarray) or not isinstance(wanted, np.ndarray):
        assert found == wanted, f"{where}: {ON_PURPOSE}"
        return
    assert found.shape == wanted.shape, f"{where}: {ON_PURPOSE}"
    if wanted.dtype.kind != "f" or np.array_equal(wanted, np.rint(wanted)):  # whole-number sums
        assert found.tobytes() == wanted.tobytes(), f"{where}: {ON_PURPOSE}"
    else:
        assert np.allclose(found, wanted, rtol=CLOSE, atol=CLOSE), f"{where}: {ON_PURPOSE}"


def test_every_estimator_and_every_monitor_has_a_golden_file() -> None:
    saved = {name: make.parts(make.read_state(name)) for name in STATES}
    assert {*ESTIMATORS, make.CountsAnswers.__name__} <= {one.get("kind") for one in saved.values()}
    parts = {part for name in ("monitored", "monitored-agreement") for part in saved[name]}
    assert set(MONITORS) <= {part.partition(".")[0] for part in parts}


@pytest.mark.parametrize("name", [name for name in STATES if name not in ("stream", "questions")])
def test_arrays_of_another_version_are_refused_with_what_to_do(name: str) -> None:
    saved = msgspec.msgpack.decode(serialization.unseal("crowd", make.read_state(name)))
    known = saved["version"]
    for other in (known - 1, known + 1):
        saved["version"] = other
        data = serialization.seal("crowd", msgspec.msgpack.encode(saved))
        said = f"a saved {saved['kind']} of format {other}, .* reads {known}: fit it anew"
        with pytest.raises(StateError, match=said):
            cs.load(data)


def test_a_stream_of_a_crowd_of_another_version_is_refused_too() -> None:
    head, columns = serialization.split_arrays(
        serialization.unseal("stream", make.read_state("stream"))
    )
    saved = msgspec.msgpack.decode(head)
    crowd = msgspec.msgpack.decode(serialization.unseal("crowd", saved["crowd"]))
    crowd["version"] += 1
    saved["crowd"] = serialization.seal("crowd", msgspec.msgpack.encode(crowd))
    parts = serialization.join_arrays(msgspec.msgpack.encode(saved), columns)
    with pytest.raises(StateError, match="fit it anew"):
        cs.load(serialization.seal("stream", *parts))


def test_a_changed_layout_is_not_recorded_under_the_old_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = make.STATES["majority-vote"]()
    assert isinstance(crowd, cs.Estimator)
    model = type(crowd._model)
    pack = model.pack
    monkeypatch.setattr(model, "pack", lambda self: pack(self) | {"more": np.zeros(1)})
    with pytest.raises(SystemExit, match=r"majority-vote: arrays\.more changed.*Model\.version"):
        make.check_version("majority-vote", crowd.to_bytes())
    monkeypatch.setattr(model, "version", model.version + 1)
    make.check_version("majority-vote", crowd.to_bytes())


# The server's, Spark's and the command line's ------------------------------------------------


IN_THE_DATABASE = (
    "If the format was changed on purpose: raise schema.SCHEMA (server) or serialization.FORMAT "
    "(bookmark), then run python -m tests.golden.make"
)


@pytest.mark.parametrize("name", BYTES)
def test_parts_of_other_files_are_as_ever(name: str) -> None:
    pack, again = BYTES[name]
    data = (FOLDER / f"{name}.bin").read_bytes()
    assert again(data) == data, f"{name}: reading it and writing it again changes it"
    assert pack() == data, f"{name}: {IN_THE_DATABASE}"


def test_the_servers_tables_are_as_ever() -> None:
    wanted = (FOLDER / "server-tables.sql").read_text("utf-8")
    assert make.server_tables() == wanted, IN_THE_DATABASE


def test_a_commit_of_a_stream_on_spark_is_as_ever(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="crowdstream[spark] is not installed")
    from crowdstream import spark

    data = make.read_state("spark-commit")
    (tmp_path / "commits").mkdir()
    (tmp_path / "commits" / f"{3:012d}.state").write_bytes(data)
    found = spark.stream_state(tmp_path)
    assert (found.batch, found.counts.labels, found.newest) == (2, 8, 1_700_000_000.0)
    assert found.open_labels == tmp_path / "tables/step=3/left"
    assert repr(found.crowd) == "MajorityVote(seed=3)"
    assert make.spark_commit() == data, ON_PURPOSE
