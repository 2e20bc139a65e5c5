from __future__ import annotations

import msgspec
import pytest

import crowdstream as cs
from crowdstream import serialization
from crowdstream.errors import MergeError, StateError


def test_bytes_of_a_later_format_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serialization, "FORMAT", 99)
    newer = serialization.seal("crowd", b"x")
    monkeypatch.undo()
    with pytest.raises(StateError, match="saved in format 99; this version of crowdstream reads 2"):
        serialization.unseal("crowd", newer)


def test_what_is_not_bytes_is_refused() -> None:
    with pytest.raises(StateError, match="expected saved bytes, found str"):
        cs.load("state.bin")  # type: ignore[arg-type]


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
