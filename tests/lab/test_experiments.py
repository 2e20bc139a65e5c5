"""The paper's experiments, quickly: our promises hold, and of the paper it is known what does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from crowdstream.metrics import error_rate
from crowdstream_lab import datasets
from crowdstream_lab.commands import paper
from crowdstream_lab.experiments import (
    NAMES,
    Claim,
    beside,
    common,
    fig4,
    find,
    lemmas,
    notes,
    ours,
    page,
    table2,
    worked,
)
from crowdstream_lab.experiments.common import CLIP, parts, summary
from crowdstream_lab.experiments.rebuilt import online_scores, rebuilt_rates, rebuilt_votes
from tests.cli.tool import call, refused
from tests.real import needs_data

TABLES = ("table1", "table2")
DOCUMENT = Path(__file__).parents[2] / "docs" / "paper.md"

FAILS, READING, UNTOLD = "does not hold", "our reading", "cannot be told"

VERDICTS = {
    "worked": {"Assuming these bounds are tight.": READING},
    "assumption": {"maximum value allowed": FAILS, "estimation becomes feasible": READING},
    "fig3": {
        "maximum error on α is approximately": READING,
        "average error on α is approximately": READING,
    },
    "fig4": {"The regret at q = 0.31": READING, "We know from Theorem 2": FAILS},
    "table1": {"Duchenne has": READING, "the ground-truth of each task": FAILS},
    "table2": {
        "error rates of EM": READING,
        "error rates of AB": READING,
        "labels ℓ ≤ L/2 are merged": FAILS,
        "one answer rate α for all": FAILS,
        "label task t + 1": READING,
        "AB yields some improvement compared to MV": UNTOLD,
        "so does EM": UNTOLD,
        "On Temp": UNTOLD,
        "number of tasks is limited": READING,
    },
    "lemmas": {"1 − 2p": FAILS, "Proposition 4": FAILS, "Proposition 5": FAILS, "n 7: ‖E": FAILS},
    "theorems": {"Theorem 2: the cumulative": UNTOLD, "off by 0.05 under drift": UNTOLD},
    "corollaries": {"order of the optimal value": FAILS},
}
"""Verdicts other than "holds", by words of the sentence."""

CLOCKS = ("grows with", "computational cost")
"""Words of claims about time, which no test asserts."""


@pytest.mark.filterwarnings("ignore::crowdstream.NotIdentifiable")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_data) if name in TABLES else name for name in NAMES]
)
def test_our_promises_hold_and_the_paper_is_judged_alike(name: str) -> None:
    done: list[float] = []
    experiment = find(name)
    claims = experiment.claims(experiment.compute(True, done.append))
    assert sum(done) == pytest.approx(1)
    assert [claim for claim in claims if claim.is_our_bug] == []
    judged = [c for c in claims if not any(word in f"{c.text}{c.wanted}" for word in CLOCKS)]
    other = {claim.text: claim.verdict for claim in judged if claim.verdict != "holds"}
    wanted = VERDICTS.get(name, {})
    assert list(other.values()) == list(wanted.values()), other
    assert all(word in text for word, text in zip(wanted, other, strict=True)), other


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_data) if name in TABLES else name for name in NAMES]
)
def test_each_experiment_runs_the_product_beside_the_paper(name: str) -> None:
    uses = find(name).uses()
    assert bool(uses) == (name not in ("worked", "table1")), "which only count and compute"
    for use in uses:
        (claim,) = beside.compare(use)
        assert claim.verdict == "holds", claim
        print_ = beside.Trace.of(use)
        assert print_.solved.sum() > 3, "else little is compared"
        assert (print_.leads > 0).sum() > 10


def test_the_paper_is_not_judged_where_our_code_differs_from_it() -> None:
    outcome = page.Outcome("fig1", "", "")
    paper, bug = Claim("a", "b", "c", False), Claim("d", "e", "f", False, "ours")
    outcome.judge([paper], [bug])
    assert [claim.verdict for claim in outcome.claims] == [UNTOLD, FAILS]
    assert outcome.bugs == [bug]
    outcome.judge([paper], [replace(bug, holds=True)])
    assert [claim.verdict for claim in outcome.claims] == [FAILS, "holds"]


@pytest.mark.parametrize(
    ("holds", "otherwise", "decided", "verdict"),
    [
        (True, None, True, "holds"),
        (True, True, True, "holds"),
        (False, False, True, FAILS),
        (False, True, True, READING),
        (True, False, True, READING),
        (False, True, False, UNTOLD),
    ],
)
def test_a_verdict_is_of_the_paper_only_where_no_reading_and_no_noise_decides(
    holds: bool, otherwise: bool | None, decided: bool, verdict: str
) -> None:
    claim = Claim("a", "b", "c", holds, otherwise=otherwise, decided=decided)
    assert claim.verdict == verdict


def test_an_uneven_coin_is_called_so_and_an_even_one_is_not() -> None:
    assert ours.chance_of(500, 1000) == 1.0
    assert ours.chance_of(600, 1000) < ours.LEVEL < ours.chance_of(540, 1000)
    # P(|heads − 5| ≥ 3) of ten tosses, by hand: 2 (1 + 10 + 45) / 1024.
    assert ours.chance_of(8, 10) == pytest.approx(112 / 1024)
    rows = [{"what": "tie coin", "kind": "x", "of": ours.TIES, "value": 620.0}]
    solver = {"what": "theory", "kind": "3", "of": 1, "value": 0.0}
    (_, coin) = ours.claims(pl.DataFrame([solver, *rows]))
    assert coin.is_our_bug
    assert "not fair" in coin.text


@needs_data
def test_errors_of_single_tasks_are_those_that_are_scored() -> None:
    data = datasets.binary(datasets.load("temp"))
    decided = rebuilt_votes(data.labels)
    each = table2.task_errors(decided, data.gold)
    assert each.mean() == pytest.approx(error_rate(decided, data.gold))


def test_a_task_decided_online_knows_the_tasks_before_it_and_no_other() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random((40, 6)) < np.array([0.05, 0.1, 0.2, 0.2, 0.3, 0.4])
    label = (wrong ^ (rng.random((40, 1)) < 0.5)).astype(np.int64).ravel()
    task, worker = np.repeat(np.arange(40), 6), np.tile(np.arange(6), 40)
    whole = online_scores(task, worker, label)
    for t in (1, 10, 39):
        some = slice(0, 6 * (t + 1))
        assert online_scores(task[some], worker[some], label[some])[t] == whole[t]
    before, last = slice(0, 6 * 39), slice(6 * 39, None)
    rates = np.clip(rebuilt_rates(task[before], worker[before], label[before]), CLIP, 1 - CLIP)
    signs = np.where(label[last] == 0, 1.0, -1.0)
    assert whole[39] == pytest.approx(np.log(1 / rates - 1) @ signs)
    assert whole[0] == np.where(label[:6] == 0, 1.0, -1.0).sum()  # nothing is known: votes count


def test_a_claim_that_is_false_is_told_so() -> None:
    rows = [
        {"method": method, "q": q, "t": t, "mean": 0.01 * t, "low": 0.0, "high": 0.01 * t + 0.1}
        for method in fig4.METHODS
        for q in fig4.Q
        for t in range(20, 1001, 20)
    ]
    claims = fig4.claims(pl.DataFrame(rows))
    words = ("is close to 0", "is less than 2", "is finite.", "as the paper describes", "learns")
    judged = [claim for claim in claims if any(word in claim.text for word in words)]
    assert [claim.verdict for claim in judged] == [FAILS] * 5


def test_noise_as_large_as_the_limit_leaves_a_claim_open() -> None:
    rows = [
        {"method": method, "q": q, "t": t, "mean": 1.9, "low": 1.5, "high": 2.3}
        for method in fig4.METHODS
        for q in fig4.Q
        for t in range(20, 1001, 20)
    ]
    (claim,) = [c for c in fig4.claims(pl.DataFrame(rows)) if "q = 0.31" in c.text]
    assert claim.verdict == UNTOLD


def test_lemma_2_is_tried_where_it_hurts() -> None:
    """The corners chosen come nearer to the bound than random ones."""
    rng = np.random.default_rng(0)
    p = lemmas.crowds(rng, 200, 10)
    a = lemmas.agreement_rates(p)
    gamma = ((1 - 2 * p).sum(axis=1) - 2 * (1 - 2 * p).max(axis=1)) ** 2 / 100
    moved = lemmas.corners(rng, p, a, gamma / 80)
    chosen, random = (
        lemmas._lemma_2(p, part, gamma) for part in (moved[lemmas.SIGNS :], moved[: lemmas.SIGNS])
    )
    assert (chosen >= random).mean() > 0.95


def test_a_band_is_two_standard_errors_wide_on_either_side() -> None:
    found = summary(np.array([0.0, 2.0]))
    assert found["high"] - found["mean"] == pytest.approx(1.96 * np.sqrt(2) / np.sqrt(2))


def test_repetitions_come_in_parts() -> None:
    assert parts(250, 100) == [100, 100, 50]
    assert parts(200, 100) == [100, 100]


# The command ---------------------------------------------------------------------------------


def test_the_command_draws_and_judges(tmp_path: Path) -> None:
    told = call("paper", "worked", "--quick", "-o", tmp_path / "out")
    assert told.code == 0  # although a sentence of the paper does not hold
    assert "5 claims of the paper: 4 hold, 0 do not hold, 1 hang on our reading" in told.out
    assert "1 of 1 promises of ours hold" in told.out
    files = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert files == ["index.html", "paper.md", "worked.csv", "worked.png", "worked.svg"]
    text = (tmp_path / "out" / "index.html").read_text("utf-8")
    assert worked.TITLE in text
    assert "our reading" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert all(why in text for why in ("Opinions.", "The paper shows it and says nothing of it"))
    assert "**our reading**" in (tmp_path / "out" / "paper.md").read_text("utf-8")


def test_a_wrong_figure_of_the_paper_is_shown_and_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worked, "PRINTED", {"majority": 0.09, "weighted": 0.007})
    told = call("paper", "worked", "--quick", "-o", tmp_path)
    assert (told.code, "3 hold, 1 do not hold" in told.out) == (0, True)
    assert "does not hold, worked: The bound on the majority vote's error" in told.out


def test_a_broken_promise_of_ours_ends_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worked, "_slack", lambda data: np.full(data.height, -1.0))
    told = call("paper", "worked", "--quick", "-o", tmp_path)
    assert (told.code, "0 of 1 promises of ours hold" in told.out) == (1, True)
    assert "our bug, worked: `theory.vote_error`" in told.out


def test_the_terminal_shows_a_screen_whatever_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty lines of eighty characters, even if everything is wrong."""

    def judged(claim: Claim) -> None:
        outcomes = [page.Outcome(name, name, "", [claim] * 9) for name in NAMES]
        monkeypatch.setattr(paper, "_run", lambda *_: outcomes)
        told = call("paper", "--quick", "-o", tmp_path)
        lines = told.out.splitlines()
        assert len(lines) + len(lines[-1]) // 80 <= 40
        assert told.code == (claim.source == "ours")
        assert str(tmp_path) in lines[-1]

    judged(Claim("the sun is made of cheese " * 9, "", "it is not " * 20, False))
    judged(Claim("`x` does as it says " * 4, "", "it does not " * 10, False, "ours"))


def test_tables_without_data_are_not_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CROWDSTREAM_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("pooch.retrieve", _no_network)
    told = call("paper", "table1", "--quick", "-o", tmp_path / "out")
    assert told.code == 1
    assert "not checked" in told.out


def _no_network(*_: object, **__: object) -> None:
    raise OSError("no network")


def test_an_experiment_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    refused(call("paper", "fig7", "-o", tmp_path), "fig7")


# The document --------------------------------------------------------------------------------


def test_the_document_is_what_the_command_writes() -> None:
    """Of every experiment and note; numbers are those of the run it was made by."""
    text = DOCUMENT.read_text("utf-8")
    for name in NAMES:
        assert f"## {find(name).TITLE}\n\n> {find(name).PAPER}\n" in text
    assert notes.SCOPE in text
    assert all(line in text for line in (*notes.CHOICES, *notes.SLIPS, *notes.UNCHECKED))
    rows = re.findall(
        r"\| (paper|ours) \|.*\| (\**)(holds|does not hold|our reading|cannot be told)\2 \|$",
        text,
        re.M,
    )
    ours = [verdict for whose, _, verdict in rows if whose == "ours"]
    theirs = [verdict for whose, _, verdict in rows if whose == "paper"]
    holds, fails, reading, untold = (theirs.count(verdict) for verdict in common.VERDICTS)
    assert set(ours) == {"holds"}
    assert f"{len(theirs)} claims of the paper: {holds} hold, {fails} do not hold" in text
    assert f"{reading} hang on our reading, {untold} cannot be told" in text
    assert f"{len(ours)} of {len(ours)} promises of ours hold" in text
