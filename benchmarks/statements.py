"""Measure how often each sentence about a crowd is said where it is not so, and where it is.

    python benchmarks/statements.py [--crowds NUMBER] [--labels NUMBER] [NAME …]

Crowds are drawn at random: 5 to 500 workers, 2 to 10 classes, 100 to 20,000 tasks, 3 to 10 labels a
task, error rates alike, spread, of hammers and spammers, or by class. Prints one row per sentence:
of how many crowds (or workers) it is not so, the share of which it is said all the same, which is
to be at most 5 %; then of how many it is so, and the share of which it is said.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import crowdstream as cs
from crowdstream.metrics.expected import Doubt
from crowdstream.models.dependence import ERR_TOGETHER, INDEPENDENT
from crowdstream.monitoring import alarms, identifiability, monitor
from crowdstream.monitoring.families import groups_of
from crowdstream.panel import effective_judges
from crowdstream.panel.against_gold import judges_against_gold
from crowdstream.simulation import Simulated, jump, simulate, simulate_dependent
from crowdstream.statements import advice, expected_wrong, label_worth

Floats = NDArray[np.float64]

CROWDS, LABELS = 240, 100_000
"""Crowds of each kind, and labels that one has at most."""

ALLOWED = 0.05
"""Share of crowds of which a sentence may be said though it is not so."""


@dataclass
class Told:
    """One sentence: of how many it is not so and it is said, and the same where it is so."""

    sentence: str
    false: list[float] = field(default_factory=list)
    true: list[float] = field(default_factory=list)

    @property
    def false_share(self) -> float:
        """Share of crowds of which it is said though it is not so."""
        return float(np.mean(self.false)) if self.false else 0.0

    def row(self) -> list[str]:
        """The sentence and its two shares, as text."""
        cells = [self.sentence]
        for said in (self.false, self.true):
            cells += [f"{len(said):,}", f"{np.mean(said):.3f}" if said else ""]
        return cells


@dataclass
class Drawn:
    """A crowd drawn at random, its estimator and its decisions."""

    made: Simulated
    crowd: cs.Estimator
    decisions: pl.DataFrame
    per_task: int

    @property
    def chance(self) -> float:
        """The error rate of somebody who guesses."""
        return 1.0 - 1.0 / self.made.classes

    def wrong(self) -> float:
        """The share of decisions that are wrong."""
        both = self.decisions.join(self.made.truths(), on="task", suffix="_true")
        return float((both["label"] != both["label_true"]).mean())  # type: ignore[arg-type]


def shape(seed: int, labels: int) -> tuple[int, int, int, int]:
    """Workers, classes, tasks and labels per task of a crowd."""
    rng = np.random.default_rng((seed, 1))
    n = int(np.exp(rng.uniform(np.log(5), np.log(500))))
    per_task = min(n, int(rng.integers(3, 11)))
    tasks = int(np.exp(rng.uniform(np.log(100), np.log(20_000))))
    return n, int(rng.integers(2, 11)), max(min(tasks, labels // per_task), 100), per_task


def rates(seed: int, n: int, classes: int) -> dict[str, object]:
    """Error rates alike, spread, of hammers and spammers, or by class."""
    rng = np.random.default_rng((seed, 2))
    kind = seed % 4
    if kind == 0:
        return {"p": rng.uniform(0.1, 0.35)}
    if kind == 1:
        return {"p": rng.uniform(0.05, 0.45, n)}
    if kind == 2:
        spam = rng.random(n) < 0.3
        return {"p": np.where(spam, 1.0 - 1.0 / classes, rng.uniform(0.02, 0.25, n))}
    right = rng.uniform(0.5, 0.95, (n, classes))
    wrong = rng.dirichlet(np.full(classes, 0.5), (n, classes)) + 1e-6
    wrong[:, np.arange(classes), np.arange(classes)] = 0.0
    wrong *= ((1.0 - right) / wrong.sum(axis=2))[:, :, None]
    wrong[:, np.arange(classes), np.arange(classes)] = right
    return {"confusions": wrong}


@cache
def independent(seed: int, labels: int) -> Drawn:
    """A crowd whose workers err independently, do not change and do not copy."""
    n, classes, tasks, per_task = shape(seed, labels)
    how = rates(seed, n, classes)
    made = simulate(n, tasks, per_task=per_task, classes=classes, seed=seed, **how)  # type: ignore[arg-type]
    return fitted(made, per_task)


@cache
def joint(seed: int, labels: int) -> Drawn:
    """A crowd whose tasks differ in difficulty, so that errors come together."""
    n, classes, tasks, per_task = shape(seed, labels)
    made = simulate_dependent("difficulty", n, tasks, per_task=per_task, classes=classes, seed=seed)
    return fitted(made, per_task)


def fitted(made: Simulated, per_task: int) -> Drawn:
    """A crowd with monitors, as `crowdstream run` has it."""
    crowd = monitor(cs.Adaptive())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        decisions = crowd.fit_predict(made.labels())
    assert isinstance(decisions, pl.DataFrame)
    return Drawn(made, crowd, decisions, per_task)


Measure = Callable[[int, int], Iterator[Told]]


def dependence(crowds: int, labels: int) -> Iterator[Told]:
    """Measure the verdicts on joint errors; one of them is false of each kind of crowd."""
    together, apart = Told("these workers make mistakes together"), Told("errors look independent")
    for seed in range(crowds):
        said = independent(seed, labels).crowd.dependence_.verdict
        together.false.append(said == ERR_TOGETHER)
        apart.true.append(said == INDEPENDENT)
        said = joint(seed, labels).crowd.dependence_.verdict
        together.true.append(said == ERR_TOGETHER)
        apart.false.append(said == INDEPENDENT)
    yield from (together, apart)


def identifying(crowds: int, labels: int) -> Iterator[Told]:
    """Measure how often guessers are said to be identifiable."""
    known = Told("error rates can be known")
    for seed in range(crowds):
        n, classes, tasks, per_task = shape(seed, min(labels, 5_000))
        p = 1.0 - 1.0 / classes
        guess = simulate(n, tasks, p=p, per_task=per_task, classes=classes, seed=seed)
        known.false.append(bool(fitted(guess, per_task).crowd.identifiable_))
        known.true.append(bool(independent(seed, labels).crowd.identifiable_))
    yield known


def advising(crowds: int, labels: int) -> Iterator[Told]:
    """Whom to drop, coach and pay: of each worker, against its own error rate."""
    drop = Told("drop: at chance or worse (of workers with a skill above 0.25)")
    coach = Told("coach: worse than the crowd (of workers who are not)")
    pay = Told("pay: better than the crowd (of workers who are not)")
    guess = Told("coach, pay or keep (of workers who guess)")
    for seed in range(crowds):
        drawn = independent(seed, labels)
        if not drawn.crowd.identifiable_:
            continue
        found = advice(drawn.crowd)
        rate = true_rates(drawn, found["worker"].to_list())
        answers = drawn.crowd.workers()["answers"].to_numpy()
        mean = float(rate @ answers / answers.sum())
        skill = 1.0 - rate / drawn.chance
        for said, reason, p, s in zip(found["advice"], found["reason"], rate, skill, strict=True):
            (drop.true if s <= 0.01 else drop.false).append(said == "drop")
            if s > 0.25:
                (coach.true if p > mean else coach.false).append(reason == "worse_than_crowd")
            (pay.true if p < mean else pay.false).append(said == "pay")
            if s <= 0.01:
                guess.false.append(said in ("coach", "pay", "keep"))
            elif s > 0.25:
                guess.true.append(said in ("coach", "pay", "keep"))
    yield from (drop, coach, pay, guess)


def true_rates(drawn: Drawn, workers: list[str]) -> Floats:
    """The error rate of each worker on the tasks that it answered."""
    truths = drawn.made.truths().rename({"label": "truth"})
    wrong = (
        drawn.made.labels()
        .join(truths, on="task")
        .select("worker", wrong=pl.col("label") != pl.col("truth"))
    )
    found = dict(wrong.group_by("worker").agg(pl.col("wrong").mean()).iter_rows())
    return np.array([found[worker] for worker in workers])


def alarming(crowds: int, labels: int) -> Iterator[Told]:
    """Who got worse or better: nobody of a crowd that does not change."""
    worse = Told("a worker got worse or better (of crowds that do not change)")
    worker = Told("got worse (of workers; where so, 0.1 → 0.4 after 500 answers)")
    changing = Told("workers change")
    for seed in range(crowds):
        drawn = independent(seed, labels)
        rung = alarms(drawn.crowd)
        worse.false.append(bool(rung))
        changing.false.append(identifiability(drawn.crowd).changing)
        worker.false += [0.0] * (len(drawn.crowd.workers_) - len({one.worker for one in rung}))
        worker.false += [1.0] * len({one.worker for one in rung})
        if seed % 10 == 0:
            crowd = monitor(cs.Adaptive())
            drift = jump(500, [0.4] + [0.1] * 9)
            crowd.learn_many(simulate(10, 800, p=0.1, drift=drift, seed=seed).labels())
            worker.true.append(any(one.worker == "w0" for one in alarms(crowd)))
    yield from (worse, worker, changing)


def copying(crowds: int, labels: int) -> Iterator[Told]:
    """Who copies: nobody of a crowd that judges by itself."""
    copy = Told("these workers copy one another")
    suspect = Told("these workers copy one another or are experts")
    for seed in range(crowds):
        crowd = independent(seed, labels).crowd
        copy.false.append(bool(groups_of(crowd, "copy")))
        suspect.false.append(bool(groups_of(crowd, "suspect")))
        if seed % 10 == 0:
            how = {1: (0, 0.97), 2: (0, 0.97)}
            made = simulate(9, 800, p=0.3, copying=how, seed=seed)
            copy.true.append(bool(groups_of(fitted(made, 9).crowd, "copy")))
            loose = {1: (0, 0.9), 2: (0, 0.9)}
            made = simulate(9, 800, p=0.3, copying=loose, seed=seed)
            suspect.true.append(bool(groups_of(fitted(made, 9).crowd, "suspect")))
    yield from (copy, suspect)


def expecting(crowds: int, labels: int) -> Iterator[Told]:
    """How many decisions are wrong: the limits do not hold the true share."""
    outside = Told("limits of the share of wrong decisions that do not hold it")
    for seed in range(crowds):
        for drawn in (independent(seed, labels), joint(seed, labels)):
            found = expected_wrong(Doubt.of(drawn.decisions["confidence"].to_numpy()), drawn.crowd)
            wrong = drawn.wrong() * drawn.decisions.height
            outside.false.append(not found.low <= wrong <= found.high)
    yield outside


def calibrating(crowds: int, labels: int) -> Iterator[Told]:
    """Whether gold shows that sure decisions are wrong too often."""
    doubt = Told("sure decisions are wrong on gold twice as often as promised (100 gold tasks)")
    for seed in range(crowds):
        made = independent(seed, labels).made
        doubt.false.append(is_doubted(made))
        if seed % 5 == 0:
            doubt.true.append(is_doubted(simulate_dependent("tricky", 9, 600, seed=seed)))
    yield doubt


def is_doubted(made: Simulated) -> bool:
    """Whether 100 gold tasks raise the warning that sure decisions are wrong too often."""
    gold = made.truths().sample(100, seed=0)  # each has 100 tasks or more
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cs.Adaptive().fit_predict(made.labels(), gold=gold)
    return any(issubclass(one.category, cs.SureInDoubt) for one in caught)


def worth(crowds: int, labels: int) -> Iterator[Told]:
    """What labels are worth: at most so much, so never clearly less than they are."""
    below = Told("labels are worth at most … (of crowds of which they are worth more)")
    for seed in range(crowds):
        for drawn in (independent(seed, labels), joint(seed, labels)):
            m = float(drawn.per_task)
            true = 0.0
            if drawn.made.n <= 20:
                exact = effective_judges(drawn.made.labels(), drawn.made.truths())
                rho = 0.0 if exact.correlation is None else exact.correlation.low or 0.0
                true = m / (1.0 + (m - 1.0) * max(rho, 0.0))
            elif drawn is independent(seed, labels):
                true = m
            if true and drawn.crowd.identifiable_:
                below.false.append(label_worth(drawn.crowd, m).high < 0.95 * true)
    yield below


def changing_between_runs(crowds: int, labels: int) -> Iterator[Told]:
    """Which judge changed between two runs: nobody of a panel that is only asked again.

    Panels of 3 to 15 judges on 40 to 400 tasks that differ in difficulty; each judge answers a
    share of the tasks anew. Where so, one judge errs on 15 points more of 300 tasks.
    """
    panel = Told("a judge changed between two runs (of panels; where so, +15 points on 300 tasks)")
    judge = Told("changed (of judges; where so, +15 points on 300 tasks)")
    golden = Told("a judge changed between two runs, by gold on half of the tasks (of panels)")
    for seed in range(crowds):
        rng = np.random.default_rng((seed, 3))
        n, tasks = int(rng.integers(3, 16)), int(rng.integers(40, 401))
        runs = two_runs(seed, n, tasks, rng.uniform(0.05, 0.4, n))
        found = cs.compare_runs(runs[0], runs[1])
        panel.false.append(bool(found.changed))
        judge.false += [float(k < len(found.changed)) for k in range(n)]
        gold = runs[2].head(tasks // 2)
        golden.false.append(bool(cs.compare_runs(runs[0], runs[1], gold=gold).changed))
        if seed % 5 == 0:
            worse = two_runs(seed, 7, 300, np.full(7, 0.15), more=0.15)
            changed = cs.compare_runs(worse[0], worse[1]).changed
            panel.true.append(bool(changed))
            judge.true.append("w0" in changed)
            judge.false += [float(f"w{k}" in changed) for k in range(1, 7)]
            checked = cs.compare_runs(worse[0], worse[1], gold=worse[2].head(150)).changed
            golden.true.append("w0" in checked)
    yield from (panel, judge, golden)


def two_runs(
    seed: int, n: int, tasks: int, errors: Floats, more: float = 0.0
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Two runs of a panel and the truth; in the second the first judge errs by so much more."""
    rng = np.random.default_rng((seed, 4))
    classes = 2 + seed % 2
    truth = rng.integers(0, classes, tasks)
    wrong = (truth[:, None] + rng.integers(1, classes, (tasks, n))) % classes
    limits = (errors, errors + more * (np.arange(n) == 0))
    hard, kept = rng.uniform(0.4, 1.6, (tasks, 1)), rng.random((tasks, n)) < 0.6
    draws = rng.random((tasks, n)), rng.random((tasks, n))
    tables = []
    # What a judge says again is the same draw on most tasks, and another on the others.
    for draw, limit in zip((draws[0], np.where(kept, *draws)), limits, strict=True):
        said = np.where(draw < np.minimum(hard * limit, 0.95), wrong, truth[:, None])
        where, who = np.nonzero(np.ones((tasks, n), bool))
        columns = {"task": where, "worker": [f"w{k}" for k in who], "label": said[where, who]}
        tables.append(pl.DataFrame(columns).with_columns(pl.format("c{}", "label").alias("label")))
    known = pl.DataFrame({"task": np.arange(tasks), "label": [f"c{k}" for k in truth]})
    return tables[0], tables[1], known


def judging(crowds: int, labels: int) -> Iterator[Told]:
    """Which judge agrees with people better: of judges alike, none; and how far is not missed."""
    better = Told("a judge agrees with people better than another (of judges alike)")
    best = Told("a judge agrees better than every other (where so, errors 0.05, 0.25, 0.3)")
    for seed in range(crowds):
        rng = np.random.default_rng((seed, 3))
        judges, items = int(rng.integers(2, 9)), int(rng.integers(30, 201))
        alike = simulate(judges, items, p=float(rng.uniform(0.05, 0.4)), seed=seed)
        found = judges_against_gold(alike.labels(), alike.truths())
        better.false.append(any(pair.apart for pair in found.pairs))
        best.false.append(judges > 1 and not found.alike)
        unlike = simulate(3, 150, p=[0.05, 0.25, 0.3], seed=seed)
        found = judges_against_gold(unlike.labels(), unlike.truths())
        better.true.append(any(pair.apart for pair in found.pairs))
        best.true.append(not found.alike)
    yield from (better, best)


def rating(crowds: int, labels: int) -> Iterator[Told]:
    """Whether gold is a random sample, and whether two systems differ."""
    odd = Told("gold does not look like a random sample (where so, one class first)")
    apart = Told("one system has more than the other (where so, accuracy 0.9 and 0.7)")
    for seed in range(crowds):
        drawn = independent(seed, min(labels, 5_000))
        truths, rng = drawn.made.truths(), np.random.default_rng((seed, 4))
        n = min(int(rng.integers(20, 101)), truths.height // 2)
        gold = truths.sample(n, seed=seed)
        odd.false.append(_is_odd(cs.rate(drawn.made.labels(), gold)))
        if seed % 5 == 0:
            first = truths.sort(pl.col("label") != truths["label"][0], maintain_order=True).head(n)
            odd.true.append(_is_odd(cs.rate(drawn.made.labels(), first)))
        one, other, better = (_outputs(truths, p, rng) for p in (0.3, 0.3, 0.1))
        known = truths.sample(min(100, truths.height // 2), seed=seed)
        found = cs.rate(drawn.made.labels(), known, system=one, versus_system=other)
        apart.false.append(not found.rates[-1].low <= 0.0 <= found.rates[-1].high)
        if seed % 5 == 0:
            found = cs.rate(drawn.made.labels(), known, system=better, versus_system=other)
            apart.true.append(found.rates[-1].low > 0.0)
    yield from (odd, apart)


def _is_odd(found: cs.Rates) -> bool:
    return any("does not look like a random sample" in note for note in found.notes)


def _outputs(
    truths: pl.DataFrame, p: float, rng: np.random.Generator
) -> dict[str | int, str | int | bool]:
    """A system that errs at this rate."""
    other = truths["label"].unique().to_list()
    return {
        task: label if rng.random() > p else other[(other.index(label) + 1) % len(other)]
        for task, label in truths.iter_rows()
    }


MEASURES: dict[str, Measure] = {
    "dependence": dependence,
    "identifying": identifying,
    "advising": advising,
    "alarming": alarming,
    "copying": copying,
    "expecting": expecting,
    "calibrating": calibrating,
    "worth": worth,
    "changing_between_runs": changing_between_runs,
    "judging": judging,
    "rating": rating,
}


def main() -> None:
    """Print the table; exit code 1 where a sentence is said too often."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--crowds", type=int, default=CROWDS)
    parser.add_argument("--labels", type=int, default=LABELS)
    asked = parser.parse_args()
    rows = []
    for name in asked.names or MEASURES:
        rows += list(MEASURES[name](asked.crowds, asked.labels))
    print("| sentence | not so of | said | so of | said |\n|---|---|---|---|---|")
    for told in rows:
        print(f"| {' | '.join(told.row())} |", flush=True)
    if any(told.false_share > ALLOWED for told in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
