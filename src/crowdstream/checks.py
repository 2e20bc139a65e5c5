"""The contract of estimators, as checks anyone can run on one of their own.

`check_estimator` puts an estimator through every ``check_…`` function of this module; the first
that does not hold raises an `AssertionError` that says what was expected.
"""

from __future__ import annotations

import pickle
import random
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

from crowdstream.errors import CrowdstreamError, NotIdentifiable, StateError
from crowdstream.estimators import Estimator, load
from crowdstream.labels import ClassLabel, LabellerId

Task = dict[LabellerId, ClassLabel | None]
Make = Callable[[], Estimator]

CLOSE = 1e-9
"""How far two ways of computing one number may differ: the solver's promise."""

NEAR = 0.25
"""How far limits may be from those of another order of tasks, or of parts with a few tasks each: in
these small crowds they are 0.4 apart."""


def check_estimator(estimator: Estimator) -> None:
    """Put an estimator through the contract. It is used as a pattern and not changed.

    >>> import crowdstream as cs
    >>> check_estimator(cs.MajorityVote())
    """

    if not __debug__:
        raise RuntimeError("the checks are assertions: run them without -O")

    def make() -> Estimator:
        return type(estimator)(**estimator.params())

    before = estimator.to_bytes()
    for name, check in list(globals().items()):
        if name.startswith("check_") and name != "check_estimator":
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NotIdentifiable)
                    check(make)
            except Exception as error:
                raise AssertionError(f"{name}: {type(error).__name__}: {error}") from error
    assert estimator.to_bytes() == before, "the estimator passed in was changed"


# Labels to check with ------------------------------------------------------------------------


def crowd_of(
    n: int = 7, tasks: int = 60, classes: int = 3, answer: float = 0.7, seed: int = 0
) -> list[Task]:
    """A small crowd, from useless to good, that answers some of the tasks."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.0, 0.95, n)
    made: list[Task] = []
    for _ in range(tasks):
        truth = int(rng.integers(classes))
        told: Task = {}
        for i in range(n):
            if rng.random() < answer:
                guess = int(rng.integers(classes))
                told[f"w{i}"] = f"c{truth if rng.random() < skill[i] else guess}"
        made.append(told or {"w0": f"c{truth}"})
    return made


def rows_of(tasks: list[Task]) -> Iterator[tuple[int, LabellerId, ClassLabel | None]]:
    """The same as rows."""
    for number, told in enumerate(tasks):
        for who, label in told.items():
            yield number, who, label


def taught(make: Make, tasks: list[Task]) -> Estimator:
    """An estimator that has learnt tasks one by one."""
    crowd = make()
    for told in tasks:
        crowd.learn_one(told)
    return crowd


def same_sums(one: Estimator, other: Estimator, exact: bool = True) -> None:
    """Two estimators know the same of everybody, whatever order they met them in."""
    assert one.tasks_ == other.tasks_, f"{one.tasks_} tasks learnt against {other.tasks_}"
    assert set(one.classes_) == set(other.classes_)
    mine, theirs = one.labellers().sort("worker"), other.labellers().sort("worker")
    if exact and one.watch:  # what the watch adds for a task depends on those before it
        limits = ["error_low", "error_high"]
        assert_frame_equal(mine.select(limits), theirs.select(limits), abs_tol=NEAR)
        mine, theirs = mine.drop(*limits, "flags"), theirs.drop(*limits, "flags")
    assert_frame_equal(mine, theirs, check_exact=exact)


# The checks ----------------------------------------------------------------------------------


def check_stores_its_arguments(make: Make) -> None:
    """The constructor's arguments come back as given, and two of a kind share nothing."""
    one, other = make(), make()
    assert one.params() == other.params()
    one.learn_one({"ann": "a", "bob": "b"})
    assert other.n_labellers_ == 0, "a fresh estimator knows what another one learnt"


def check_says_something_before_learning(make: Make) -> None:
    """With nothing learnt: the votes decide, no votes decide nothing, tables are empty."""
    crowd = make()
    assert crowd.predict_one({}) is None
    assert crowd.predict_proba_one({}) == {}
    assert crowd.predict_one({"ann": "a", "bob": "a", "cy": "b"}) == "a"
    assert crowd.labellers().height == 0
    assert not crowd.identifiable_


def check_fitting_begins_afresh(make: Make) -> None:
    """`fit_predict` forgets what was learnt before, and reads what can be read only once."""
    rows = list(rows_of(crowd_of()))
    crowd = taught(make, crowd_of(seed=1))
    first = crowd.fit_predict(iter(rows))
    assert first.height == len({task for task, _, _ in rows})
    assert_frame_equal(crowd.fit_predict(rows), first)
    again = make()
    again.learn_many(rows)
    same_sums(crowd, again)
    assert_frame_equal(again.predict_many(rows), first)


def check_learning_returns_nothing(make: Make) -> None:
    """Learning is a verb without an answer."""
    crowd = make()
    told: Task = {"ann": "a", "bob": "b"}
    for verb in (crowd.learn_one, crowd.unlearn_one):
        assert verb(told) is None
    assert crowd.learn_many([(1, "ann", "a")]) is None  # type: ignore[func-returns-value]


def check_predicting_changes_nothing(make: Make) -> None:
    """Predict is pure, also of labellers and classes never met, and repeats itself."""
    crowd = taught(make, crowd_of())
    before = crowd.to_bytes()
    told: Task = {"w1": "c0", "w5": "c1", "stranger": "unheard of"}
    said = [(crowd.predict_one(told), crowd.predict_proba_one(told)) for _ in range(3)]
    crowd.predict_many([(1, "w1", "c0"), (1, "stranger", "unheard of")])
    crowd.labellers()
    assert crowd.to_bytes() == before, "predicting changed the state"
    assert said[0] == said[1] == said[2]


def check_probabilities(make: Make) -> None:
    """Posteriors are finite, sum to one, and the predicted class has the largest."""
    crowd = make()
    for told in crowd_of(tasks=40):
        found = crowd.predict_proba_one(told)
        assert abs(sum(found.values()) - 1) < CLOSE
        assert min(found.values()) >= 0
        label = crowd.predict_one(told)
        assert label is not None
        assert found[label] >= max(found.values()) - CLOSE
        crowd.learn_one(told)


def check_many_learns_as_one(make: Make) -> None:
    """`learn_many` leaves the sums of `learn_one` on each task in turn."""
    tasks = crowd_of()
    one, many = taught(make, tasks), make()
    many.learn_many(rows_of(tasks[:25]))
    many.learn_many(
        pl.DataFrame(list(rows_of(tasks[25:])), ["task", "worker", "label"], orient="row")
    )
    same_sums(one, many)
    assert one.intake_ == many.intake_
    for told in crowd_of(seed=1, tasks=20):
        a, b = one.predict_proba_one(told), many.predict_proba_one(told)
        assert all(abs(a[c] - b[c]) < CLOSE for c in a)


def check_stream_decides_as_one(make: Make) -> None:
    """`stream_many` decides, to the bit, as predicting and learning task by task."""
    tasks = crowd_of()
    one, many = make(), make()
    said = []
    for told in tasks:
        said.append(one.vote_one(told))
        one.learn_one(told)
    table = many.stream_many(rows_of(tasks))
    assert table.select("label", "confidence", "margin").rows() == [vote[:3] for vote in said]
    same_sums(one, many)


def check_new_labellers_and_classes(make: Make) -> None:
    """Anybody and any class may appear at any time."""
    crowd = taught(make, crowd_of(tasks=20, classes=2))
    crowd.learn_one({"new": "brand new", "w1": "c0"})
    assert "brand new" in crowd.classes_
    assert "new" in crowd.labellers()["worker"].to_list()
    assert crowd.predict_one({"new": "brand new"}) in crowd.classes_


def check_absent_labellers(make: Make) -> None:
    """A skip makes a labeller known and counts for nothing else."""
    crowd, other = make(), make()
    crowd.learn_one({"ann": "a", "bob": None, "cy": "b"})
    other.learn_one({"ann": "a", "cy": "b"})
    assert crowd.n_labellers_ == 3
    assert crowd.intake_.null_label == 1
    assert crowd.predict_proba_one({"ann": "a"}) == other.predict_proba_one({"ann": "a"})
    assert crowd.predict_one({"ann": "a", "bob": None}) == "a"
    answers = dict(crowd.labellers().select("worker", "answers").iter_rows())
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
    for twin in (crowd.copy(), pickle.loads(pickle.dumps(crowd)), load(saved)):
        assert twin.to_bytes() == saved, "a copy is not the same"
        for told in crowd_of(tasks=5, seed=2):
            assert twin.predict_proba_one(told) == crowd.predict_proba_one(told)
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
            load(data)
        except StateError:
            continue
        raise AssertionError("damaged bytes were loaded")


def check_merging(make: Make) -> None:
    """Any partition of the tasks, merged in any order, is one pass: to the bit if order-free."""
    tasks = crowd_of()
    whole = taught(make, tasks)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        part = rng.integers(0, 4, len(tasks))
        parts = [
            taught(make, [t for t, p in zip(tasks, part, strict=True) if p == k]) for k in range(4)
        ]
        merged = make()
        for k in rng.permutation(4):
            before = parts[k].to_bytes()
            merged += parts[k]
            assert parts[k].to_bytes() == before, "merging changed what was merged"
        assert merged.tasks_ == whole.tasks_
        assert merged.intake_ == whole.intake_
        if whole.order_free_:
            same_sums(merged, whole)
            rows = list(rows_of(tasks))
            mine, theirs = merged.predict_many(rows), whole.predict_many(rows)
            assert_frame_equal(mine.drop("difficulty"), theirs.drop("difficulty"))
    doubled = taught(make, tasks)
    doubled += doubled
    assert doubled.tasks_ == 2 * whole.tasks_


def check_unlearning(make: Make) -> None:
    """Taking answers back undoes learning them, in any order, task by task or label by label."""
    tasks = crowd_of()
    exact = make().order_free_
    back = 20 if exact else 1  # what forgetting has let fade does not come back
    crowd, want = taught(make, tasks), taught(make, tasks[:-back])
    rng = np.random.default_rng(0)
    for k in rng.permutation(np.arange(len(tasks) - back, len(tasks))):
        crowd.unlearn_one(tasks[k])
    same_sums(crowd, want, exact)

    letter = make()  # label by label: each one takes the task's answers back and adds itself
    for told in tasks:
        here: Task = {}
        place = None
        for who in rng.permutation(list(told)).tolist():
            after = {**here, who: told[who]}
            if place is not None:
                letter.unlearn_one(here, place=place)
            letter.learn_one(after, place=place)
            place = letter.clock_ - 1
            here = after
    same_sums(letter, taught(make, tasks), exact)


def check_order_of_rows(make: Make) -> None:
    """Rows by task, shuffled or by worker teach the same, and decide the same."""
    tasks = crowd_of()
    rows = list(rows_of(tasks))
    crowd = make()
    wanted = crowd.fit_predict(rows)
    shuffled = [rows[k] for k in np.random.default_rng(0).permutation(len(rows))]
    for order in (shuffled, sorted(rows, key=lambda row: (str(row[1]), row[0]))):
        other = make()
        found = other.fit_predict(order)
        if crowd.order_free_:
            same_sums(other, crowd)
            clear, same = (
                table.filter(pl.col("margin") > 0).sort("task").drop("difficulty")
                for table in (wanted, found)
            )
            assert_frame_equal(same, clear)


def check_repeated_rows(make: Make) -> None:
    """One worker's label on a task counts once; of two that differ the last stands."""
    rows = list(rows_of(crowd_of(tasks=20)))
    plain, doubled = make(), make()
    plain.learn_many(rows)
    doubled.learn_many([(task, who, "c0") for task, who, _ in rows] + rows + rows)
    assert_frame_equal(plain.labellers(), doubled.labellers())
    found = doubled.intake_
    assert (found.rows, found.labels) == (3 * len(rows), len(rows))
    assert found.repeated + found.replaced == 2 * len(rows)


def check_memory_is_bounded(make: Make) -> None:
    """The state grows with the labellers, not with the labels."""
    tasks = crowd_of(tasks=100)
    crowd = make()
    crowd.learn_many(rows_of(tasks))
    small = len(crowd.to_bytes())
    for _ in range(50):
        crowd.learn_many(rows_of(tasks))
    # The counts themselves take a few more digits.
    assert len(crowd.to_bytes()) <= small + 64, "the state grew with the labels"


def check_keeps_nothing_of_the_caller(make: Make) -> None:
    """What was passed in may be changed afterwards."""
    told: Task = {"ann": "a", "bob": "b", "cy": "a"}
    crowd = make()
    crowd.learn_one(told)
    before = crowd.to_bytes()
    told.clear()
    crowd.classes_.append("x")
    crowd.params().clear()
    assert crowd.to_bytes() == before, "the caller's objects are shared"


def check_no_global_randomness(make: Make) -> None:
    """Results do not depend on, nor disturb, the global random generators."""
    told: Task = {"ann": "a", "bob": "b"}
    said = []
    for seed in (1, 2):
        random.seed(seed)
        np.random.seed(seed)
        before = pickle.dumps((random.getstate(), np.random.get_state()))
        crowd = taught(make, crowd_of(tasks=10))
        said.append((crowd.predict_one(told), crowd.to_bytes()))
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
