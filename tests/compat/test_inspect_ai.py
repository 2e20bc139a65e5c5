"""The adapter to inspect_ai: panels of scorers in small evals of a mock model, and its parts."""

from __future__ import annotations

import json
import logging
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("inspect_ai", reason="the adapter needs inspect-ai")

from inspect_ai.log import EvalSample
from inspect_ai.scorer import SampleScore, Score

import crowdstream as cs
from crowdstream.compat.inspect_ai import (
    Rescored,
    effective_judges,
    learned_vote,
    panel_votes,
    rescore,
)
from tests.compat.inspect_evals import ERRORS, KNOWN, SAMPLES, save_crowd, verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def evals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came out of real evals; inspect_ai writes into folders of ours only."""
    folder = tmp_path_factory.mktemp("evals")
    homes = {name: str(folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    done = subprocess.run(
        [sys.executable, "-m", "tests.compat.inspect_evals", str(folder)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **homes},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_panel_is_reduced_by_what_was_learnt(evals: dict[str, Any]) -> None:
    log = evals["reduced"]
    assert len(log["votes"]) == SAMPLES
    crowd = cs.load(evals["state"])
    assert isinstance(crowd, cs.Adaptive)
    for item, votes in log["votes"].items():
        said = log["scores"][f"{item}/1"]["multi_scorer"]["value"]
        assert said == crowd.predict_one(votes), item
    score = log["scores"]["q0/1"]["multi_scorer"]
    assert set(score["metadata"]["panel"]) == set(ERRORS)
    assert 0.5 <= score["metadata"]["confidence"] <= 1.0
    assert score["answer"] == "Paris"
    assert score["explanation"].startswith("says "), "the words of a judge who agrees"


def test_a_judge_without_a_score_keeps_its_place(evals: dict[str, Any]) -> None:
    panel = evals["reduced"]["votes"]["q7"]
    assert panel["fair"] is None
    assert None not in [said for name, said in panel.items() if name != "fair"]


def test_the_metric_is_that_of_the_library(evals: dict[str, Any]) -> None:
    log = evals["reduced"]
    expected = cs.effective_judges(log["votes"], log["truths"])
    assert expected.effective is not None
    assert log["metrics"]["effective_judges"] == pytest.approx(expected.effective.value)
    assert log["metrics"]["workers"] == len(ERRORS)


def test_a_log_is_decided_as_a_whole(evals: dict[str, Any]) -> None:
    votes = evals["apart"]["votes"]
    decided = cs.jury(votes).decisions
    assert evals["labels"] == decided["label"].to_list()
    scores = evals["rescored"]["scores"]
    assert all(set(each) == {*ERRORS, "jury"} for each in scores.values())
    assert [scores[f"{q}/1"]["jury"]["value"] for q in votes] == evals["labels"]
    assert "jury" in evals["rescored"]["scorers"], "metrics are computed anew"
    assert "jury" not in evals["apart"]["scores"]["q0/1"], "the log itself is not changed"
    assert sorted(evals["three"]) == sorted(list(ERRORS)[:3]), "read from a file, some scorers"


def test_known_verdicts_decide_their_samples(evals: dict[str, Any]) -> None:
    assert evals["known"] == KNOWN
    assert not any(evals["asked"][:KNOWN])


def test_epochs_of_one_scorer_are_a_majority_vote(evals: dict[str, Any]) -> None:
    assert evals["epochs"]["metrics"] == {"accuracy": 1.0}
    assert set(evals["epochs"]["votes"]) == {f"q (epoch {n})" for n in (1, 2, 3)}


# Parts ---------------------------------------------------------------------------------------


def test_without_a_crowd_it_learns_as_it_goes() -> None:
    vote = learned_vote(judges=list(ERRORS))
    plain = ours = 0
    for k, truth in enumerate(random.Random(3).choices("CI", k=400)):
        said = {name: verdict(name, f"s{k}", truth) for name in ERRORS}
        found = vote([Score(value=value) for value in said.values()])
        if k >= 200:
            plain += max("CI", key=list(said.values()).count) == truth
            ours += found.value == truth
    assert ours > plain


def test_scores_that_are_missing_or_no_classes_are_said(tmp_path: Path) -> None:
    vote = learned_vote()
    assert vote([Score.unscored(), Score.unscored()]).reason == "scoring_failed"
    with pytest.raises(cs.InputError, match="the score of 1: expected one class"):
        vote([Score(value=[1, 2])])
    with pytest.raises(cs.InputError, match="the score of 1: expected str, int or bool"):
        vote([Score(value=0.37)])
    with pytest.raises(cs.InputError, match="crowd: expected the file"):
        learned_vote(crowd=str(tmp_path / "none.state"))
    with pytest.raises(cs.InputError, match="log: expected samples with scores"):
        panel_votes([])


def test_what_was_rescored_is_shown_without_its_log() -> None:
    found = cs.jury([("q1", "a", "C"), ("q1", "b", "I")])
    log = mock.Mock(location="logs/panel.eval", __repr__=lambda _: "thousands of lines")
    assert repr(Rescored(log, found)) == f"Rescored(log='logs/panel.eval', jury=\n{found!r})"


def test_a_truth_that_no_sample_has_is_said() -> None:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec

    scores = {"a": Score(value="C"), "b": Score(value="I")}
    sample = EvalSample(id="q1", epoch=1, input="?", target="C", scores=scores)
    spec = EvalSpec(
        created="2026-01-01T00:00:00Z", task="t", dataset=EvalDataset(), model="mockllm/model",
        config=EvalConfig(),
    )  # fmt: skip
    with pytest.raises(cs.InputError, match="truth: expected samples with 'nobody'"):
        rescore(EvalLog(eval=spec, samples=[sample]), truth="nobody")


def test_strangers_count_alike_when_nobody_knows_who_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "judges.state"
    save_crowd(path)
    vote = learned_vote(crowd=str(path), judges=list(ERRORS))
    found = vote([Score(value=x) for x in "CII"])
    assert found.value == "I"
    assert set((found.metadata or {})["panel"]) == {f"stranger {k}" for k in (1, 2, 3)}
    named = learned_vote(crowd=str(path), judges=["good", "bad-1", "bad-2"])
    assert named([Score(value=x) for x in "CII"]).value == "C", "one good judge against two bad"


def test_the_metric_says_when_it_cannot_tell(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    count: Any = effective_judges()
    assert count([SampleScore(score=Score(value="C"))]) == {}
    always: dict[str, Any] = {"panel": {"a": "C", "b": "C"}, "target": "C"}
    assert count([SampleScore(score=Score(value="C", metadata=always))] * 5) == {"workers": 2}
    assert "never erred" in caplog.text
    human = [
        SampleScore(
            score=Score(value="C", metadata={"panel": panel}), sample_metadata={"human": "C"}
        )
        for panel in [{"a": "C", "b": "C"}, {"a": "C", "b": "I"}, {"a": "I", "b": "I"}] * 10
    ]
    found = effective_judges(truth="human")
    assert found(human)["effective_judges"] == pytest.approx(2 / 1.5)  # type: ignore[arg-type, index, call-overload]


def test_without_inspect_ai_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("crowdstream.compat.inspect_ai")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'crowdstream\[judges\]'"):
        import crowdstream.compat.inspect_ai  # noqa: F401
