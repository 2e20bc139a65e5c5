from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import crowdstream as cs
from crowdstream import serialization
from crowdstream.errors import MergeError, StateError


def test_bytes_of_a_later_format_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "FORMAT", 99)
    newer = serialization.seal("crowd", b"x")
    monkeypatch.undo()
    with pytest.raises(
        StateError,
        match=f"saved in format 99; this version of crowdstream reads {serialization.FORMAT}",
    ):
        serialization.unseal("crowd", newer)


def test_what_is_neither_bytes_nor_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="expected saved bytes, found int"):
        cs.load(7)  # type: ignore[arg-type]
    with pytest.raises(StateError, match=r"nowhere\.state: No such file"):
        cs.load(tmp_path / "nowhere.state")
    other = tmp_path / "other.txt"
    other.write_text("hello")
    with pytest.raises(StateError, match=r"other\.txt: these 5 bytes are not a saved state"):
        cs.load(str(other))


@pytest.mark.parametrize("kind", [cs.Adaptive, cs.Stream])
def test_a_file_is_replaced_whole_or_not_at_all(
    kind: type[cs.Adaptive | cs.Stream], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "saved.state"
    first = kind()
    first.save(path)
    assert path.read_bytes() == first.to_bytes()
    monkeypatch.setattr("os.fsync", lambda file: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        kind().save(path)
    assert path.read_bytes() == first.to_bytes()
    assert [entry.name for entry in tmp_path.iterdir()] == ["saved.state"]
    assert type(cs.load(path)) is kind


def test_well_sealed_nonsense_is_refused() -> None:
    with pytest.raises(StateError, match="not a saved estimator"):
        cs.load(serialization.seal("crowd", b"\x80"))
    saved = msgspec.msgpack.decode(serialization.unseal("crowd", cs.MajorityVote().to_bytes()))
    saved["kind"] = "Oracle"
    with pytest.raises(StateError, match="an estimator unknown here, 'Oracle'"):
        cs.load(serialization.seal("crowd", msgspec.msgpack.encode(saved)))
    saved["kind"] = "MajorityVote"
    saved["arrays"] = {}
    with pytest.raises(StateError, match="sums do not fit: rows"):
        cs.load(serialization.seal("crowd", msgspec.msgpack.encode(saved)))


def test_only_like_is_merged_with_like() -> None:
    crowd = cs.AgreementBased()
    with pytest.raises(MergeError, match=r"AgreementBased \+= MajorityVote"):
        crowd += cs.MajorityVote()  # type: ignore[arg-type]
    with pytest.raises(MergeError, match=r"memory=None and 10"):
        crowd += cs.AgreementBased(memory=10)


def test_merging_crowds_that_know_other_people_and_classes() -> None:
    one, other, whole = (cs.AgreementBased() for _ in range(3))
    for crowd in (one, whole):
        crowd.learn_one({"ann": 1, "bob": 1, "cy": 0})
    for crowd in (other, whole):
        crowd.learn_one({"dee": "x", "bob": "x", "ann": "y"})
    one += other
    assert one.classes_ == [1, 0, "x", "y"]
    assert one.workers().equals(whole.workers())


def test_states_are_loaded_by_whoever_loads_them_first(tmp_path: Path) -> None:
    stream = cs.Stream(cs.monitor(cs.Adaptive()))
    stream.observe("t", "ann", "x")
    (tmp_path / "stream.pickle").write_bytes(pickle.dumps(stream))
    stream.crowd.save(tmp_path / "crowd.state")
    code = """
import pickle, sys
stream = pickle.load(open("stream.pickle", "rb"))
print(stream.open_tasks, len(stream.crowd.observers))
"""
    other = """
from crowdstream.estimators import Adaptive
print(len(Adaptive.load("crowd.state").observers), len(Adaptive().observers))
"""
    for script, wanted in ((code, "['t'] 5"), (other, "5 1")):
        found = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == wanted
    assert copy.deepcopy(stream).to_bytes() == stream.to_bytes()
