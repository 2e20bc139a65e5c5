"""The contract of estimators, as checks anyone can run on one of their own.

`check_estimator` yields every ``check_…`` function of this module for an estimator; one that does
not hold raises an `AssertionError` that says what was expected.
"""

from __future__ import annotations

import inspect
import pickle
import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.testing import assert_frame_equal

from crowdstream.errors import AnswerRateInDoubt, CrowdstreamError, NotIdentifiable, StateError
from crowdstream.estimators import Estimator, MajorityVote
from crowdstream.labels import ClassLabel, WorkerId
from crowdstream.sums.rows import TIE

Task = dict[WorkerId, ClassLabel | None]
Make = Callable[[], Estimator]

CLOSE = 1e-12
"""Largest difference between two ways of computing one number: rounding."""

VARIANTS: dict[str, Sequence[object]] = {
    "answer_rate": (0.7,),
    "clip": (0.0,),
    "copies": ("report",),
    "families": ({"w1": "twins", "w2": "twins", "w4": "alone", "never met": "alone"},),
    "memory": (20, 3),
    "seed": (5,),
    "shrinkage": (0.0,),
    "ties": ("lowest",),
}
"""Values to try for constructor parameters besides their defaults, by name."""


class ContractCheck(NamedTuple):
    """One check of one estimator: call it to run it; it raises what does not hold."""

    name: str
    estimator: Estimator
    check: Callable[[Make], None]

    def __str__(self) -> str:
        return f"{self.name} of {self.estimator!r}"

    def __call__(self) -> None:
        """Run it."""
        before = self.estimator.to_bytes()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", NotIdentifiable)
                # The crowd below always answers something.
                warnings.simplefilter("ignore", AnswerRateInDoubt)
                self.check(self.estimator.clone)
        except Exception as error:
            raise AssertionError(f"{self}: {type(error).__name__}: {error}") from error
        assert self.estimator.to_bytes() == before, f"{self}: it was changed"


def modes(kind: type[Estimator]) -> list[Estimator]:
    """An estimator in every mode it has: its defaults, and each parameter set to something else.

    Parameters
    ----------
    kind
        A class of estimators; its constructor's parameters are looked up in `VARIANTS`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> modes(cs.MajorityVote)
    [MajorityVote(), MajorityVote(ties='lowest'), MajorityVote(seed=5)]
    """
    made = [kind()]
    for name in inspect.signature(kind).parameters:
        if name not in VARIANTS:
            raise AssertionError(f"{kind.__name__}({name}=…): say in VARIANTS what else it can be")
        made += [kind(**{name: value}) for value in VARIANTS[name]]
    return made


def check_estimator(estimator: Estimator) -> Iterator[ContractCheck]:
    """The checks of the estimators' contract, one by one; call each to run it.

    Parameters
    ----------
    estimator
        Used as a pattern, and not changed.

    Examples
    --------
    >>> import crowdstream as cs
    >>> for check in check_estimator(cs.MajorityVote()):
    ...     check()

    With pytest each becomes a test of its own::

        @pytest.mark.parametrize("check", list(check_estimator(MyEstimator())), ids=str)
        def test_contract(check):
            check()
    """
    if not __debug__:
        raise RuntimeError("the checks are assertions: run them without -O")
    for name, check in list(globals().items()):
        if name.startswith("check_") and name != "check_estimator":
            yield ContractCheck(name, estimator, check)


# Labels to check with ------------------------------------------------------------------------


def crowd_of(
    n: int = 7, tasks: int = 60, classes: int = 3, answer: float = 0.7, seed: int = 0
) -> list[Task]:
    """A small crowd, from useless to good, that answers some of the tasks."""
    return [dict(answers) for answers in _crowd_of(n, tasks, classes, answer, seed)]


@cache
def _crowd_of(n: int, tasks: int, classes: int, answer: float, seed: int) -> list[Task]:
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.0, 0.95, n)
    made: list[Task] = []
    for _ in range(tasks):
        truth = int(rng.integers(classes))
        answers: Task = {}
        for i in range(n):
            if rng.random() < answer:
                guess = int(rng.integers(classes))
                answers[f"w{i}"] = f"c{truth if rng.random() < skill[i] else guess}"
        made.append(answers or {"w0": f"c{truth}"})
    return made


EVERYBODY: Task = {f"w{i}": f"c{i % 3}" for i in range(7)}
"""A task that makes all workers and classes known, which a table does before its first task."""


def rows_of(tasks: list[Task]) -> Iterator[tuple[int, WorkerId, ClassLabel | None]]:
    """Yield tasks as rows of number, worker and label."""
    for number, answers in enumerate(tasks):
        for who, label in answers.items():
            yield number, who, label


def taught(make: Make, tasks: list[Task]) -> Estimator:
    """An estimator that has learnt tasks one by one."""
    crowd = make()
    for answers in tasks:
        crowd.learn_one(answers)
    return crowd


def aligned(crowd: Estimator) -> dict[str, NDArray[np.float64]]:
    """The agreement sums, workers and classes in order of their names."""
    sums = crowd._model.sums
    workers = sorted(range(len(crowd.workers_)), key=lambda i: str(crowd.workers_[i]))
    names = [(type(label).__name__, str(label)) for label in crowd.classes_]
    classes = sorted(range(len(names)), key=lambda a: names[a])
    rows, k = sums.rows, sums.classes
    head = rows.shape[1] - 3 * k
    columns = [*range(head), *(head + part * k + a for part in range(3) for a in classes)]
    return {
        "rows": rows[np.ix_(workers, columns)],
        "shares": sums.shares[classes],
        "relatives": sums.relatives,
        "total": sums.total,
    }


def same_sums(one: Estimator, other: Estimator, exact: bool = True) -> None:
    """Two estimators have the same sums of everybody, whatever order they met them in."""
    assert one.tasks_ == other.tasks_, f"{one.tasks_} tasks learnt against {other.tasks_}"
    assert set(one.classes_) == set(other.classes_)
    assert set(one.workers_) == set(other.workers_)
    theirs = aligned(other)
    for name, mine in aligned(one).items():
        unit, another = (1.0, 1.0) if exact else (one._model.unit, other._model.unit)
        if exact:
            assert mine.tobytes() == theirs[name].tobytes(), f"other sums: {name}"
        else:  # what faded does not come back to the bit
            gap = np.abs(mine / unit - theirs[name] / another).max(initial=0.0)
            assert gap < 1e-9, f"other sums: {name}, by {gap:.1e}"


def same_decisions(one: pl.DataFrame, other: pl.DataFrame) -> None:
    """Two tables decide every task alike, whatever order they list them in."""
    one, other = one.sort("task"), other.sort("task")
    exact = ["task", "label", "votes"]
    assert_frame_equal(one.select(exact), other.select(exact))
    numbers = ["confidence", "margin"]
    assert_frame_equal(one.select(numbers), other.select(numbers), rel_tol=0, abs_tol=CLOSE)


def keeps_all(crowd: Estimator) -> bool:
    """Return True if nothing is forgotten, so that sums are exact."""
    return crowd.memory is None


def same_learnt(one: Estimator, other: Estimator) -> None:
    """Everything learnt is the same to the bit, but for samples, which go by tasks' names.

    With forgetting a task's weight is a product or a power of the same number: to rounding.
    """
    theirs = other._model.pack()
    for name, mine in one._model.pack().items():
        if name.startswith("sample."):
            continue
        if keeps_all(one):
            assert mine.tobytes() == theirs[name].tobytes(), f"learnt otherwise: {name}"
        else:
            assert np.allclose(mine, theirs[name], rtol=1e-9, atol=0), f"learnt otherwise: {name}"


# The checks ----------------------------------------------------------------------------------


def check_stores_its_arguments(make: Make) -> None:
    """The constructor's arguments come back as given, and two of a kind share nothing."""
    one, other = make(), make()
    assert one.get_params() == other.get_params()
    one.learn_one({"ann": "a", "bob": "b"})
    assert len(other._workers) == 0, "a fresh estimator knows what another one learnt"


def check_says_something_before_learning(make: Make) -> None:
    """With nothing learnt: the votes decide, no votes decide nothing, tables are empty."""
    crowd = make()
    assert crowd.predict_one({}) is None
    assert crowd.predict_proba_one({}) == {}
    assert crowd.predict_one({"ann": "a", "bob": "a", "cy": "b"}) == "a"
    assert crowd.workers().height == 0
    assert not crowd.identifiable_


def check_fitting(make: Make) -> None:
    """`fit_predict` begins afresh, reads what can be read only once, and is `fit` and predict."""
    rows = list(rows_of(crowd_of()))
    crowd = taught(make, crowd_of(seed=1))
    first = crowd.fit_predict(iter(rows))
    assert first.height == len({task for task, _, _ in rows})
    assert_frame_equal(crowd.fit_predict(rows), first)
    again = taught(make, crowd_of(seed=2))
    assert again.fit(rows) is again
    assert again.to_bytes() == crowd.to_bytes()
    assert_frame_equal(again.predict_many(rows), first)
    learnt = make()
    learnt.learn_many(rows)
    same_sums(crowd, learnt)


def check_clones_have_learnt_nothing(make: Make) -> None:
    """A clone is made alike and knows nothing."""
    crowd = taught(make, crowd_of(tasks=10))
    clone = crowd.clone()
    assert type(clone) is type(crowd)
    assert clone.get_params() == crowd.get_params()
    assert clone.to_bytes() == make().to_bytes()


def check_learning_returns_nothing(make: Make) -> None:
    """Learning is a verb without an answer."""
    crowd = make()
    answers: Task = {"ann": "a", "bob": "b"}
    assert crowd.learn_one(answers) is None  # type: ignore[func-returns-value]
    if crowd._model.reversible:
        assert crowd.unlearn_one(answers) is None  # type: ignore[func-returns-value]
    assert crowd.learn_many([(1, "ann", "a")]) is None  # type: ignore[func-returns-value]


def check_asking_changes_nothing(make: Make) -> None:
    """Questions are pure, also of workers and classes never met, and repeat themselves."""
    crowd = taught(make, crowd_of())
    before = crowd.to_bytes()
    answers: Task = {"w1": "c0", "w5": "c1", "stranger": "unheard of"}
    table = [(1, "w1", "c0"), (1, "stranger", "unheard of")]
    questions: list[Callable[[], object]] = [
        lambda: crowd.predict_one(answers),
        lambda: crowd.predict_proba_one(answers),
        lambda: crowd.decide_one(answers, task="t1"),
        lambda: crowd.predict_many(table).rows(),
        lambda: crowd.predict_many(table, gold={1: "c7"}).rows(),
        lambda: crowd.predict_proba_many(table).rows(),
        lambda: crowd.confusions().rows(),
        lambda: crowd.workers().rows(),
        lambda: crowd.identifiable_,
        lambda: crowd.skills_,
        lambda: crowd.skill_of(None),
        lambda: crowd.skill_of("stranger"),
        lambda: crowd.skill_of("w1"),
        lambda: (crowd.classes_, crowd.workers_, len(crowd._workers), crowd.tasks_),
        lambda: crowd.get_params(),
        lambda: crowd.clone().to_bytes(),
        lambda: crowd.copy().to_bytes(),
        lambda: repr(crowd),
    ]
    for number, ask in enumerate(questions):
        said = ask(), ask(), ask()
        assert crowd.to_bytes() == before, f"question {number} changed the state"
        assert said[0] == said[1] == said[2], f"question {number} is answered otherwise again"


def check_probabilities(make: Make) -> None:
    """Posteriors are finite, sum to one, and the predicted class has the largest."""
    crowd = make()
    for answers in crowd_of(tasks=40):
        found = crowd.predict_proba_one(answers)
        assert abs(sum(found.values()) - 1) < CLOSE
        assert min(found.values()) >= 0
        label = crowd.predict_one(answers)
        assert label is not None
        assert found[label] >= max(found.values()) - TIE
        crowd.learn_one(answers)


def check_many_learns_as_one(make: Make) -> None:
    """`learn_many` learns what `learn_one` does on each task in turn, to the bit."""
    tasks = crowd_of()
    one, many = taught(make, [EVERYBODY, *tasks]), taught(make, [EVERYBODY])
    many.learn_many(rows_of(tasks[:25]))
    many.learn_many(
        pl.DataFrame(list(rows_of(tasks[25:])), ["task", "worker", "label"], orient="row")
    )
    same_learnt(one, many)
    assert one.intake_ == many.intake_
    for answers in crowd_of(seed=1, tasks=20):
        a, b = one.predict_proba_one(answers), many.predict_proba_one(answers)
        assert all(abs(a[c] - b[c]) < (CLOSE if keeps_all(one) else 1e-9) for c in a)


def check_stream_decides_as_one(make: Make) -> None:
    """`stream_many` decides as predicting and learning task by task do."""
    tasks = crowd_of()
    one, many = taught(make, [EVERYBODY]), taught(make, [EVERYBODY])
    said = []
    for number, answers in enumerate(tasks):
        decision = one.decide_one(answers, task=number)
        said.append((decision.label, decision.confidence, decision.margin))
        one.learn_one(answers)
    table = many.stream_many(rows_of(tasks))
    wanted = pl.DataFrame(said, ["label", "confidence", "margin"], orient="row")
    numbers = range(len(tasks)), [len(answers) for answers in tasks]
    same_decisions(
        table, wanted.with_columns(task=pl.Series(numbers[0]), votes=pl.Series(numbers[1]))
    )
    same_learnt(one, many)


def check_new_workers_and_classes(make: Make) -> None:
    """Anybody and any class may appear at any time."""
    crowd = taught(make, crowd_of(tasks=20, classes=2))
    crowd.learn_one({"new": "brand new", "w1": "c0"})
    assert "brand new" in crowd.classes_
    assert "new" in crowd.workers()["worker"].to_list()
    assert crowd.predict_one({"new": "brand new"}) in crowd.classes_


def check_absent_workers(make: Make) -> None:
    """A skip makes a worker known and counts for nothing else."""
    crowd, other = make(), make()
    crowd.learn_one({"ann": "a", "bob": None, "cy": "b"})
    other.learn_one({"ann": "a", "cy": "b"})
    assert len(crowd._workers) == 3
    assert crowd.intake_.null_label == 1
    assert crowd.predict_proba_one({"ann": "a"}) == other.predict_proba_one({"ann": "a"})
    assert crowd.predict_one({"ann": "a", "bob": None}) == "a"
    answers = dict(crowd.workers().select("worker", "answers").iter_rows())
    assert answers == {"ann": 1, "bob": 0, "cy": 1}


def check_kinds_of_labels(make: Make) -> None:
    """Booleans, integers and strings are labels of their own, NumPy's scalars too."""
    crowd = make()
    crowd.learn_one({"a": True, "b": np.True_, "c": False})  # type: ignore[arg-type]
    crowd.learn_one({1: np.int64(1), 2: 1, 3: 0})  # type: ignore[arg-type]
    crowd.learn_one({"a": "1", "b": np.str_("1")})
    assert [(type(c), c) for c in crowd.classes_] == [
        (bool, True),
        (bool, False),
        (int, 1),
        (int, 0),
        (str, "1"),
    ]


def check_copies(make: Make) -> None:
    """Pickles, copies and saved bytes are the same crowd, and go on alone."""
    crowd = taught(make, crowd_of(tasks=30))
    saved = crowd.to_bytes()
    for twin in (crowd.copy(), pickle.loads(pickle.dumps(crowd)), Estimator.load(saved)):
        assert twin.to_bytes() == saved, "a copy is not the same"
        for answers in crowd_of(tasks=5, seed=2):
            assert twin.predict_proba_one(answers) == crowd.predict_proba_one(answers)
        twin.learn_one({"w0": "c0", "w1": "c1"})
        assert crowd.to_bytes() == saved, "a copy learnt and the original changed"


def check_damaged_bytes(make: Make) -> None:
    """Bytes cut short or altered are refused, wherever the damage is."""
    saved = taught(make, crowd_of(tasks=5)).to_bytes()
    damaged = [saved[:cut] for cut in (0, 5, 30, len(saved) // 2, len(saved) - 1)]
    damaged += [
        saved[:at] + bytes([saved[at] ^ 1]) + saved[at + 1 :]
        for at in range(0, len(saved), max(1, len(saved) // 40))
    ]
    for data in (*damaged, saved + b"x"):
        try:
            Estimator.load(data)
        except StateError:
            continue
        raise AssertionError("damaged bytes were loaded")


def check_merging(make: Make) -> None:
    """Any partition of the tasks, merged in any tree, has the sums of one pass to the bit."""
    if not make()._model.reversible:
        return
    tasks = crowd_of()
    rows = list(rows_of(tasks))
    whole = taught(make, tasks)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        part = rng.integers(0, 4, len(tasks))
        parts = [
            taught(make, [t for t, p in zip(tasks, part, strict=True) if p == k]) for k in range(4)
        ]
        merged, pair = make(), make()
        for k, into in zip(rng.permutation(4).tolist(), (merged, pair, pair, merged), strict=True):
            before = parts[k].to_bytes()
            into += parts[k]
            assert parts[k].to_bytes() == before, "merging changed what was merged"
        merged += pair
        assert merged.tasks_ == whole.tasks_
        assert merged.intake_ == whole.intake_
        if keeps_all(whole):
            same_sums(merged, whole)
            if whole._model.order_free:
                same_decisions(merged.predict_many(rows), whole.predict_many(rows))
    doubled = taught(make, tasks)
    doubled += doubled
    assert doubled.tasks_ == 2 * whole.tasks_


def check_unlearning(make: Make) -> None:
    """Taking answers back undoes learning them: the sums to the bit, in any order."""
    if not make()._model.reversible:
        return
    tasks = crowd_of()
    exact = keeps_all(make())
    back = 20 if exact else 1  # what forgetting has let fade does not come back
    crowd, want = taught(make, tasks), taught(make, tasks[:-back])
    rng = np.random.default_rng(0)
    for k in rng.permutation(np.arange(len(tasks) - back, len(tasks))):
        crowd.unlearn_one(tasks[k])
    same_sums(crowd, want, exact)


def check_order_of_tasks(make: Make) -> None:
    """Without forgetting, tasks in any order have the same sums; order-free ones decide alike."""
    if not keeps_all(make()):
        return
    tasks = crowd_of()
    rows = list(rows_of(tasks))
    whole = taught(make, tasks)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(tasks))
        other = taught(make, [tasks[k] for k in order])
        same_sums(whole, other)
        if whole._model.order_free:
            same_decisions(whole.predict_many(rows), other.predict_many(rows))


def check_order_of_rows(make: Make) -> None:
    """A table fitted as a whole teaches and decides the same in any order of its rows."""
    rows = list(rows_of(crowd_of()))
    crowd = make()
    wanted = crowd.fit_predict(rows)
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    orders = [sorted(rows, key=lambda row: (row[0], str(row[1])[::-1]), reverse=False)]
    if keeps_all(crowd):  # else what came last counts most
        orders += [shuffled, sorted(rows, key=lambda row: (str(row[1]), row[0])), rows[::-1]]
    for order in orders:
        other = make()
        found = other.fit_predict(order)
        same_sums(other, crowd, keeps_all(crowd))
        same_decisions(found, wanted)


def check_two_workers(make: Make) -> None:
    """Two workers cannot be told apart: it falls back to majority vote and says so."""
    crowd, votes = make(), MajorityVote(ties=make().ties, seed=make().seed)
    if not crowd.weighs_:  # nothing to fall back from
        return
    tasks: list[Task] = [{"w1": t % 2, "w2": t % 3 % 2} for t in range(40)]
    for answers in tasks:
        crowd.learn_one(answers)
        votes.learn_one(answers)
    assert not crowd.identifiable_, "two workers were told apart"
    assert crowd.identifiable_.reason
    tasks[6:] = [{"w1": 1}, {"w2": 0, "new": 0, "other": 1}]
    for answers in tasks:
        assert crowd.decide_one(answers, task="t") == votes.decide_one(answers, task="t")


def check_repeated_rows(make: Make) -> None:
    """One worker's label on a task counts once; of two that differ the last stands."""
    rows = list(rows_of(crowd_of(tasks=20)))
    once, doubled = make(), make()
    once.learn_many(rows)
    thrice = [(task, who, "c0") for task, who, _ in rows] + rows + rows
    doubled.learn_many(thrice, repeats="last")
    same_sums(once, doubled)
    assert_frame_equal(once.workers(), doubled.workers())
    found = doubled.intake_
    assert (found.rows, found.labels) == (3 * len(rows), len(rows))
    assert found.repeated + found.replaced == 2 * len(rows)


def check_memory_is_bounded(make: Make) -> None:
    """The state grows with the workers, not with the labels, once bounded samples are full."""
    rows = list(rows_of(crowd_of(tasks=500)))
    table = pl.DataFrame(rows, ["task", "worker", "label"], orient="row")  # read quicker than rows
    crowd = make()
    sizes = []
    for _ in range(18):
        crowd.learn_many(table)
        sizes.append(len(crowd.to_bytes()))
    # A sample of whole tasks has some with more labels, and counts take a few more digits.
    most = max(sizes[:12]) * 1.02 + 64
    assert max(sizes[12:]) <= most, f"the state grew with the labels: {sizes}"


def check_long_streams_stay_finite(make: Make) -> None:
    """However long a stream is, with whatever memory, nothing overflows and nobody is NaN."""
    crowd, tasks = make(), crowd_of(tasks=100)
    few = pl.DataFrame(list(rows_of(tasks)), ["task", "worker", "label"], orient="row")
    many = pl.concat([few.with_columns(pl.col("task") + 100 * k) for k in range(19)])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for round_ in range(10):  # 10,000 tasks
            crowd.learn_many(few if round_ < 5 else many)
            assert crowd.predict_many(rows_of(tasks[:20]))["confidence"].is_finite().all()
            assert crowd.workers()["weight"].is_finite().all()
            assert all(p >= 0 for p in crowd.predict_proba_one(tasks[0]).values())


def check_keeps_nothing_of_the_caller(make: Make) -> None:
    """Check that the caller may change what was passed in."""
    answers: Task = {"ann": "a", "bob": "b", "cy": "a"}
    crowd = make()
    crowd.learn_one(answers)
    before = crowd.to_bytes()
    answers.clear()
    crowd.classes_.append("x")
    crowd.get_params().clear()
    assert crowd.to_bytes() == before, "the caller's objects are shared"


def check_no_global_randomness(make: Make) -> None:
    """Results do not depend on, nor disturb, the global random generators."""
    answers: Task = {"ann": "a", "bob": "b"}
    said = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = pickle.dumps((random.getstate(), np.random.get_state()))
        crowd = taught(make, crowd_of(tasks=10))
        said.append((crowd.predict_one(answers), crowd.to_bytes()))
        after = pickle.dumps((random.getstate(), np.random.get_state()))
        assert before == after, "a global random generator was used"
    assert said[0] == said[1]


def check_failures_change_nothing(make: Make) -> None:
    """A call that fails says why and leaves the state as it was."""
    crowd = taught(make, crowd_of(tasks=10))
    before = crowd.to_bytes()
    calls: list[Callable[[], object]] = [
        lambda: crowd.learn_one({"new": 0.5}),  # type: ignore[arg-type]
        lambda: crowd.learn_one({"new": "c0", None: "c1"}),  # type: ignore[arg-type]
        lambda: crowd.learn_one(["w0"]),  # type: ignore[arg-type]
        lambda: crowd.learn_one({"new": "c0"}, gold=0.5),  # type: ignore[arg-type]
        lambda: crowd.unlearn_one({"never met": "c0"}),
        lambda: crowd.learn_many([(1, "new", "c0"), (1, "new", 0.5)]),  # type: ignore[list-item]
        lambda: crowd.learn_many([(1, "new")]),  # type: ignore[list-item]
        lambda: crowd.learn_many(pl.DataFrame({"task": [1], "worker": ["new"]})),
        lambda: crowd.stream_many(pl.DataFrame({"task": [1], "worker": [[1]], "label": ["a"]})),
        lambda: crowd.__iadd__("not an estimator"),  # type: ignore[arg-type]
    ]
    for call in calls:
        try:
            call()
        except CrowdstreamError:
            pass
        else:
            raise AssertionError("bad input was accepted")
        assert crowd.to_bytes() == before, "a failed call changed the state"
