"""The fixed point goes on from the last one, and nobody can tell: warm is cold, to the bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import crowdstream as cs
from crowdstream import reference
from crowdstream.estimators.open_tasks import OpenTasks
from crowdstream.models.agreement import Agreement
from crowdstream.models.fixed_point_loops import FixedPoint
from crowdstream.sums.agreement import AgreementSums
from tests.simulated import Crowd

Floats = NDArray[np.float64]
Read = tuple[int, bool, bool, float, bytes, bytes, bytes, bytes]


def read(fixed: FixedPoint, workers: int) -> Read:
    """All that a fixed point says of a crowd."""
    fixed.renew()
    theta, weights = np.empty(workers), np.empty(workers + 1)
    solved, apart = np.empty(workers, np.uint8), np.empty(workers, np.uint8)
    fixed.fill(theta, weights, solved, apart)
    arrays = (x.tobytes() for x in (theta, weights, solved, apart))
    theirs = fixed.reason, fixed.by_shares, fixed.fell_back, fixed.mean
    return *theirs, *arrays  # type: ignore[return-value]


def model_of(crowd: cs.AgreementBased) -> Agreement:
    """What the crowd learns with."""
    assert isinstance(crowd._model, Agreement)
    return crowd._model


def fixed_of(sums: AgreementSums, crowd: cs.AgreementBased) -> FixedPoint:
    """A fixed point of these sums, from nothing, by the crowd's parameters."""
    model = model_of(crowd)
    fixed = FixedPoint(sums.loops, *model.params)
    fixed.unit, fixed.named = model.unit, model.named
    return fixed


def warm(crowd: cs.AgreementBased) -> Read:
    """What the crowd's own fixed point says, which has gone along."""
    return read(model_of(crowd).scoring, len(crowd.workers_))


def cold(crowd: cs.AgreementBased) -> Read:
    """What one says that has seen nothing but the sums."""
    return read(fixed_of(model_of(crowd).sums, crowd), len(crowd.workers_))


# The paper, task by task -----------------------------------------------------------------------


def clear_votes(p: Floats, x: Floats) -> float:
    """How far a vote is from a tie, 0 if it is one; −1 where a rounding of p̂ decides."""
    if (p == 0.5).all():
        return float(abs(x.sum()))
    given = p[x != 0]
    if min(np.abs(given).min(), np.abs(1 - given).min()) < 1e-9:  # infinite weight, or nearly so
        return -1
    certain = np.where(p <= 0, 1.0, np.where(p >= 1, -1.0, 0.0)) @ x
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = np.where((p > 0) & (p < 1), np.log(1 / p - 1), 0.0)
    lead = abs(float(certain or weights @ x))
    return 0.0 if lead < 1e-12 else lead if lead > 1e-6 else -1


class Printed(reference.AB):
    """The paper's algorithm; p̂ is computed once a task."""

    rates: Floats

    def learn(self, answers: ArrayLike) -> None:
        super().learn(answers)
        self.rates = super().error_rates

    @property
    def error_rates(self) -> Floats:
        return self.rates


def test_it_is_the_papers_estimate_and_decision_after_every_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # 2⁻³⁶ of a bracket shorter than 1 is 1.5e-11, well below what is compared.
    monkeypatch.setattr(reference, "HALVINGS", 36)
    rng = np.random.default_rng(0)
    seen = {"tasks": 0, "solved": 0, "no solution": 0, "tied": 0, "p̂ ≤ 0": 0}
    for alpha, beta in ((1.0, 0.0), (0.6, 0.0), (1.0, 0.02), (0.6, 0.02)):
        for n, good in ((3, 1), (4, 3), (6, 2), (7, 3), (20, 9)):
            p = np.where(np.arange(n) < good, rng.uniform(0, 0.2), rng.choice([0.3, 0.5, 0.6], n))
            printed = Printed(n, alpha, beta)
            memory = 1 / beta if beta else None
            crowd = cs.AgreementBased(answer_rate=alpha, memory=memory, shrinkage=0, clip=0)
            crowd.observers.clear()  # intervals are not looked at
            for _ in range(500):
                truth = rng.choice([-1, 1])
                x = np.where(rng.random(n) < p, -truth, truth) * (rng.random(n) < alpha)
                answers = {i: None if v == 0 else int(v) for i, v in enumerate(x.tolist())}
                if printed.t and x.any():
                    decision = crowd.decide_one(answers, settle=None)
                    lead = clear_votes(printed.rates, x)
                    seen["tied"] += lead == 0
                    assert lead <= 0 or decision.label == printed.decide(x)
                    assert lead or decision.margin == 0.0
                printed.learn(x)
                crowd.learn_one(answers)
                found = model_of(crowd)._solve()
                seen["tasks"] += 1
                if found.reason:
                    seen["no solution"] += 1
                    assert (printed.rates == 0.5).all()
                else:
                    seen["solved"] += 1
                    seen["p̂ ≤ 0"] += bool(printed.rates.min() <= 0)
                    # The promise; both are good to some 1e-11.
                    assert np.abs((1 - found.theta) / 2 - printed.rates).max() < 1e-8
    assert seen["tasks"] == 10_000
    assert min(seen.values()) > 200, f"each should be common, or the test shows little: {seen}"


# Warm and cold ---------------------------------------------------------------------------------

MODES: list[dict[str, float | None]] = [
    {},
    {"shrinkage": 0, "clip": 0},
    {"memory": 15},
    {"answer_rate": 0.3},
    {"answer_rate": 0.3, "memory": 15, "shrinkage": 0, "clip": 0},
]


def some_answers(rng: np.random.Generator, t: int) -> tuple[dict[str, str], str]:
    """A task of a crowd that grows, by workers and by classes, and its truth.

    Some workers share no task with the others until the 40th, and some others until the 110th.
    """
    workers, classes = 5 + t // 20, 2 + (t > 60) + (t > 120)
    truth = int(rng.integers(classes))
    who = rng.permutation(workers)[: int(rng.integers(0, 7))]
    skill = np.linspace(0.95, 0.2, 15)[who]
    knows = rng.random(who.size) < skill
    said = np.where(knows, truth, rng.integers(classes, size=who.size))
    apart = "x" if t <= 40 else "y"
    name = apart if rng.random() < 0.1 and t <= 110 else "w"
    names = [apart if t in (40, 110) and i % 2 else name for i in who.tolist()]
    answers = {f"{a}{i}": f"c{x}" for a, i, x in zip(names, who, said, strict=True)}
    return answers, f"c{truth}"


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_going_on_from_the_last_solution_gives_what_solving_from_nothing_does(
    mode: dict[str, float | None],
) -> None:
    rng = np.random.default_rng(7)
    solved = 0
    for _ in range(3):
        crowd = cs.AgreementBased(**mode)  # type: ignore[arg-type]
        kept: list[tuple[dict[str, str], str | None]] = []
        for t in range(180):
            answers, truth = some_answers(rng, t)
            gold = truth if rng.random() < 0.1 else None
            crowd.learn_one(answers, gold=gold)
            kept.append((answers, gold))
            assert warm(crowd) == cold(crowd)
            if rng.random() < 0.3:  # with memory only the last can be taken back
                at = -1 if crowd.memory else int(rng.integers(len(kept)))
                answers, gold = kept.pop(at)
                crowd.unlearn_one(answers, gold=gold)
                assert warm(crowd) == cold(crowd)
            if t % 60 == 59:  # other ways in, which the fixed point does not see
                other = cs.AgreementBased(**mode)  # type: ignore[arg-type]
                for _ in range(70):
                    other.learn_one(some_answers(rng, t)[0])
                crowd += other
                kept.clear()
                assert warm(crowd) == cold(crowd)
            solved += warm(crowd)[1]
    assert solved > 80, "the fixed point should be asked, or the test shows little"


def test_groups_that_join_may_become_the_main_one() -> None:
    rng = np.random.default_rng(0)
    crowd = cs.AgreementBased()
    crowd.learn_one({f"a{i}": i % 2 for i in range(5)})  # the largest, by workers
    for _ in range(100):
        for name, size in (("b", 3), ("c", 4)):
            truth = int(rng.integers(2))
            said = np.where(rng.random(size) < 0.9, truth, 1 - truth)
            crowd.learn_one({f"{name}{i}": x for i, x in enumerate(said.tolist())})
    assert "share no task" in crowd.identifiable_.reason
    crowd.learn_one({"b0": 1, "c0": 1})
    assert crowd.identifiable_
    assert warm(crowd) == cold(crowd)
    crowd.unlearn_one({"b0": 1, "c0": 1})  # that two have met is not taken back
    assert crowd.identifiable_
    assert warm(crowd) == cold(crowd)


def test_of_groups_as_large_as_one_another_the_first_is_the_main_one() -> None:
    crowd = cs.AgreementBased()
    crowd.learn_many(Crowd(np.linspace(0.3, 0.9, 4), tasks=200).table())
    assert crowd.identifiable_
    crowd.learn_one({"far": 1, "away": 1, "apart": 0, "alone": 1})
    assert crowd.identifiable_
    assert warm(crowd) == cold(crowd)


def test_the_copies_are_made_anew_whatever_changed_the_sums() -> None:
    table = Crowd(np.linspace(0.1, 0.9, 12), tasks=200, per_task=4, seed=1).table()
    one = cs.AgreementBased()
    one.learn_many(table)

    def scale() -> None:
        for array in one._model.sums.arrays():
            array *= 0.5

    changes: list[Callable[[], None]] = [
        lambda: one.learn_many(table),
        lambda: one._model.sums.remove_sums(one._model.sums.empty()),
        lambda: one._model.sums.add_sums(one._model.sums.without(one._code([], one._classes))),
        lambda: one._model.sums.unpack(cs.AgreementBased().fit(table)._model.pack(), 12, 2),
        lambda: one.learn_one({99: 1, 0: 1, 1: 0}),
        lambda: one.learn_one({0: 2, 1: 0, 2: 0}),
        scale,
    ]
    for change in changes:
        before = warm(one)
        change()
        assert warm(one) == cold(one)
        if change is not changes[1]:  # which adds nothing
            assert warm(one) != before


# Asking ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_asking_changes_nothing(mode: dict[str, float | None]) -> None:
    rng = np.random.default_rng(3)
    quiet = cs.AgreementBased(**mode)  # type: ignore[arg-type]
    asked = cs.AgreementBased(**mode)  # type: ignore[arg-type]
    for t in range(150):
        answers, truth = some_answers(rng, t)
        for crowd in (quiet, asked):
            crowd.learn_one(answers, gold=truth if t % 9 == 0 else None)
        asked.predict_one(some_answers(rng, t)[0])
        asked.predict_proba_one({"stranger": "new class", **answers})
        model_of(asked)._solve()
    assert warm(asked) == warm(quiet)
    assert asked.to_bytes() == quiet.to_bytes()


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_open_task_is_decided_without_its_own_labels(mode: dict[str, float | None]) -> None:
    rng = np.random.default_rng(5)
    crowd = cs.AgreementBased(**mode)  # type: ignore[arg-type]
    for _ in range(100):
        crowd.learn_one(some_answers(rng, 111)[0])
    weighed, model, tasks = 0, model_of(crowd), OpenTasks(crowd)
    for t in range(100):
        answers, truth = some_answers(rng, 111)
        task = tasks.open(f"t{t}")
        for worker, label in answers.items():
            tasks.put(task, worker, label)
        if t % 5 == 0:
            tasks.put_truth(task, truth)
        before, sums = warm(crowd), model.sums.pack()
        scorer, scores = tasks.score(task)
        own = model.scale.weight(task.place)
        theirs = fixed_of(model.sums.without(task.batch(), own), crowd)
        if crowd.answer_rate and crowd.memory:
            # The newest task counts 1/memory of all: without it the paper's average is that before.
            theirs.unit -= own / crowd.memory
        wanted = np.empty_like(scores)
        theirs.ask(task.batch().coded, task.size, 0.0, wanted)
        assert scorer.identified == (not theirs.fell_back)
        # With memory a task that is taken away leaves a rounding.
        assert np.allclose(scores, wanted, rtol=1e-12, atol=1e-12)
        weighed += scorer.identified
        assert warm(crowd) == before
        assert all(np.array_equal(sums[name], x) for name, x in model.sums.pack().items())
    assert weighed > 50, "votes should be weighed, or the test shows little"
