"""Choices: cells are read as sets, decided per class, and come back as sets."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.choices import Choices
from crowdstream.errors import InputError
from crowdstream.labels.choice_cells import find_separator, split_cell
from crowdstream.metrics import set_f1
from tests.benchmarks import load_benchmark

BENCHMARK = load_benchmark("choices")
SETTINGS, Setting = BENCHMARK.SETTINGS, BENCHMARK.Setting
ours, simulate = BENCHMARK.ours, BENCHMARK.simulate

COLUMNS = ["task", "worker", "label"]


def frame(rows: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    return pl.DataFrame(rows, COLUMNS, orient="row", infer_schema_length=None)


def votes_of(choices: Choices) -> set[tuple[object, ...]]:
    return set(choices.pairs.frame().rows())


def decided(choices: Choices, crowd: cs.Estimator | None = None) -> dict[str, str | None]:
    joined = choices.join((crowd or cs.MajorityVote()).fit_predict(choices.pairs))
    return dict(joined.select("task", "label").rows())


# Cells -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "separator", "parts"),
    [
        ("cat|dog", "|", ("cat", "dog")),
        ("dog | cat ||dog", "|", ("dog", "cat")),
        ("cat|dog", None, ("cat|dog",)),
        ("New York, NY", "|", ("New York, NY",)),
        ('["a|b", "c"]', "|", ("a|b", "c")),
        ("['it', 'me']", None, ("it", "me")),
        ('["it\'s", "me"]', None, ("it's", "me")),
        ("[1, 2.0, 1.10, true, false]", None, ("1", "2", "1.10", "true", "false")),
        ("[]", "|", ()),
        ('\ufeff ["a|b"]', "|", ("a|b",)),
        ("[NaN, 1e999]", "|", ("NaN", "1e999")),
        ('["", " "]', "|", ()),
        ("|||", "|", ()),
        ("[unclear]", "|", ("[unclear]",)),
        ("[unclear]|[noise]", "|", ("[unclear]", "[noise]")),
        ("[1] first", None, ("[1] first",)),
        ("x" * 10_000, "|", ("x" * 10_000,)),
        ("[" + "9" * 10_000 + "]", "|", ("9" * 10_000,)),
    ],
)
def test_a_cell_is_split_into_its_choices(
    cell: str, separator: str | None, parts: tuple[str, ...]
) -> None:
    assert split_cell(cell, separator) == parts
    if parts:
        found = Choices.of(frame([("t", "ann", cell)]), separator=separator or "\0")
        assert found.classes == parts


@pytest.mark.parametrize(
    "cell",
    ["[", '["a"', "['a", '[["a"], ["b"]]', '[{"a": 1}]', "[null]", "[cat, dog]", "[" * 9_999],
)
@pytest.mark.parametrize("separator", [None, "|", ","])
def test_a_broken_list_is_refused_with_what_was_expected(cell: str, separator: str | None) -> None:
    with pytest.raises(InputError, match="expected a JSON list"):
        split_cell(cell, separator)
    with pytest.raises(InputError, match="expected a JSON list"):
        Choices.of(frame([("t", "ann", "a"), ("t", "bob", cell)]), separator=separator)


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["cat", "dog", "cat|dog"], "|"),
        (["a;b", "b;c", "c;a"], ";"),
        (["cat", "dog", "cat, dog", "New York, NY"], ","),
        (["cat", "dog", "New York, NY"], None),
        (["New York, NY", "New York, NY"], None),
        (['["cat", "dog"]', "cat", "dog"], None),
        (['["cat", "dog"]', "cat|dog"], "|"),
        (["|", ";", ",", "[", ""], None),
        ([], None),
    ],
)
def test_a_separator_is_one_if_its_parts_are_labels_too(
    cells: list[str], separator: str | None
) -> None:
    assert find_separator(cells) == separator


def test_two_separators_in_one_table_are_refused() -> None:
    rows = [("t", str(k), cell) for k, cell in enumerate(["a", "b", "a|b", "b|a", "a;b"])]
    with pytest.raises(InputError, match=r"one separator.*'\|'.*'a;b'"):
        Choices.of(frame(rows))
    assert Choices.of(frame(rows), separator="|").classes == ("a", "b", "a;b")


# Votes -------------------------------------------------------------------------------------------


def test_who_answered_and_did_not_choose_a_class_said_no_to_it() -> None:
    found = Choices.of(
        frame([("t", "ann", "cat|dog"), ("t", "bob", "dog|cat"), ("t", "cy", "dog")])
    )
    assert votes_of(found) == {
        *(("t: cat", who, said) for who, said in (("ann", "yes"), ("bob", "yes"), ("cy", "no"))),
        *(("t: dog", who, "yes") for who in ("ann", "bob", "cy")),
    }


def test_one_choice_per_row_is_the_same_as_sets() -> None:
    rng = np.random.default_rng(0)
    sets = [
        (f"t{t}", f"w{w}", "|".join(rng.choice(list("abcd"), rng.integers(1, 4), replace=False)))
        for t in range(40)
        for w in range(3)
    ]
    single = [(task, who, part) for task, who, cell in sets for part in cell.split("|")]
    mixed = sets[:30] + [row for row in single if int(row[0][1:]) >= 10]
    texts = [(task, who, json.dumps(cell.split("|"))) for task, who, cell in sets]
    expected = Choices.of(frame(sets))
    rng.shuffle(single)
    for rows in (single, mixed, texts):
        found = Choices.of(frame(rows))
        assert votes_of(found) == votes_of(expected)


def test_an_empty_list_is_an_answer_and_an_empty_cell_is_none() -> None:
    rows = [("t1", "ann", "a"), ("t1", "bob", "[]"), ("t1", "cy", ""), ("t1", "di", None)]
    found = Choices.of(frame([*rows, ("t1", "ed", "|"), ("t2", "ann", "  ")]), separator="|")
    assert votes_of(found) == {("t1: a", "ann", "yes"), ("t1: a", "bob", "no")}
    joined = found.join(cs.MajorityVote().fit_predict(found.pairs))
    assert joined["votes"].to_list() == [2, 0]
    assert joined.row(1, named=True) == {
        "task": "t2", "label": None, "confidence": 0.0, "margin": 0.0, "votes": 0,
        "settled": False, "confidences": None, "least": None,
    }  # fmt: skip


def test_spellings_are_joined_if_asked_for() -> None:
    rows = [("t", "ann", "Cat|dog"), ("t", "bob", "cat|DOG "), ("t", "cy", "dog")]
    assert Choices.of(frame(rows), separator="|", exact=False).classes == ("Cat", "dog")
    assert len(Choices.of(frame(rows), separator="|").classes) == 4


NAMES = st.text(st.sampled_from('a: "|\\'), min_size=1, max_size=5).filter(lambda x: x.strip() == x)


@given(st.sets(st.tuples(NAMES, NAMES), min_size=1, max_size=8))
@settings(deadline=None, max_examples=200)
def test_no_two_pairs_have_the_same_name(rows: set[tuple[str, str]]) -> None:
    cells = [(task, "ann", json.dumps([name])) for task, name in sorted(rows)]
    found = Choices.of(frame(cells))
    names = pl.Series(found.pairs.batch.tasks)
    assert names.n_unique() == len(names) == len(found.tasks) * len(found.classes)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2", "t3"]),
            st.sampled_from("wxyz"),
            st.frozensets(st.sampled_from(["a", "b|c", "[d", "é", 'q"', "New York, NY"])),
        ),
        min_size=1,
        max_size=20,
    )
)
@settings(deadline=None, max_examples=200)
def test_any_sets_come_back_as_they_were(rows: list[tuple[str, str, frozenset[str]]]) -> None:
    """One worker per task: its sets are the decision, whatever the names of the classes are."""
    alone = [(task, f"{task}'s", names) for task, _, names in rows]
    expected: dict[str, frozenset[str]] = {}
    for task, _, names in alone:
        expected[task] = expected.get(task, frozenset()) | names
    found = Choices.of(frame([(t, w, json.dumps(sorted(names))) for t, w, names in alone]))
    back = {
        task: frozenset(split_cell(label or "[]", found.joiner))
        for task, label in decided(found).items()
    }
    assert back == expected


# Decisions ---------------------------------------------------------------------------------------


def test_the_confidence_of_a_set_is_the_product_over_all_classes() -> None:
    rows = [
        ("t", "ann", "cat|dog"),
        ("t", "bob", "cat"),
        ("t", "cy", "cat|dog"),
        ("u", "ann", "ox"),
    ]
    found = Choices.of(frame(rows), separator="|")
    pairs = cs.MajorityVote().fit_predict(found.pairs)
    row = found.join(pairs).row(0, named=True)
    # Of 3 votes 3, 2 and 3 are for the decision, (votes + 1)/(3 + 2) each.
    assert row["confidence"] == pytest.approx(0.8 * 0.6 * 0.8)
    assert (row["label"], row["confidences"]) == ("cat|dog", "0.8|0.6")
    assert (row["least"], row["votes"]) == ("dog", 3)
    chances = found.chances(cs.MajorityVote().fit_predict_proba(found.pairs))
    assert chances.row(0) == ("t", pytest.approx(0.8), pytest.approx(0.6), pytest.approx(0.2))


def test_a_set_is_settled_once_all_its_classes_are() -> None:
    rows = [("t", f"w{k}", "cat|dog" if k % 2 else "cat") for k in range(40)]
    rows += [("u", f"w{k}", "dog") for k in range(40)]
    found = Choices.of(frame(rows), separator="|")
    pairs = cs.MajorityVote().fit_predict(found.pairs)
    assert pairs["settled"].to_list() == [True, False, True, True]
    assert found.join(pairs)["settled"].to_list() == [False, True]


def test_a_class_with_the_separator_in_its_name_is_kept_in_a_json_list() -> None:
    rows = [("t", who, '["cat|dog", "bird"]') for who in "abc"]
    rows += [("u", who, "bird") for who in "abc"] + [("v", who, "[]") for who in "abc"]
    found = Choices.of(frame(rows))
    joined = found.join(cs.MajorityVote().fit_predict(found.pairs))
    assert joined["label"].to_list() == ['["cat|dog", "bird"]', '["bird"]', "[]"]
    assert joined["confidences"][0] == "0.8, 0.8"
    assert split_cell(joined["label"][0], "|") == ("cat|dog", "bird")


def test_known_sets_are_gold_for_the_pairs_and_for_the_decisions() -> None:
    rows = [(f"t{t}", who, "a|b" if t % 2 else "a") for t in range(8) for who in "xyz"]
    found = Choices.of(frame(rows), separator="|")
    gold = {"t0": "b|zebra", "t1": ["a", "b"], "elsewhere": "a"}
    truths = found.truths(gold)
    assert truths == {"t0: a": "no", "t0: b": "yes", "t1: a": "yes", "t1: b": "yes"}
    pairs = cs.MajorityVote().fit_predict(found.pairs)
    pairs = cs.MajorityVote().fit_predict(found.pairs, gold=truths)
    joined = found.join(pairs, gold=truths)
    assert joined["label"].to_list()[:3] == ["b", "a|b", "a"]
    assert found.text_of("b|zebra|a") == "a|b|zebra"
    assert joined["confidence"].to_list()[:2] == [1.0, 1.0]
    assert joined["settled"].to_list()[:2] == [True, True]


def test_a_class_that_nobody_chose_is_not_in_the_set_whatever_was_decided() -> None:
    found = Choices.of(frame([("t", "ann", "a"), ("t", "bob", "a"), ("u", "ann", "b")]))
    pairs = cs.MajorityVote().fit_predict(found.pairs)
    wrong = pl.when(pl.col("task") == "t: b").then(pl.lit("yes")).otherwise("label").alias("label")
    joined = found.join(pairs.with_columns(wrong))
    assert joined["label"].to_list() == ["a", "b"]
    assert joined["confidence"][0] == pytest.approx(0.75 * 0.25)
    assert joined["least"][0] == "b"


def test_tasks_come_in_order_of_first_appearance() -> None:
    rows = [("z", "ann", "b"), ("a", "ann", "a|b"), ("z", "bob", "b"), ("m", "ann", "b|a")]
    found = decided(Choices.of(frame(rows), separator="|"))
    assert list(found.items()) == [("z", "b"), ("a", "b|a"), ("m", "b|a")]


def test_a_table_without_answers_gives_no_sets() -> None:
    found = Choices.of(pl.DataFrame({"task": ["t"], "worker": ["ann"], "label": [""]}))
    assert found.classes == ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert decided(found) == {"t": None}
        empty = Choices.of(frame([("t", "ann", "[]"), ("t", "bob", "[]")]))
        assert decided(empty) == {"t": "[]"}


# Many pairs --------------------------------------------------------------------------------------


# Scores ------------------------------------------------------------------------------------------


def test_scores_of_sets_are_those_of_the_formulas() -> None:
    found = {"t1": "a|b", "t2": "a", "t3": "[]", "t4": "b"}
    truth = {"t1": "a|b", "t2": "b|a", "t3": "", "t4": "c", "t5": "c"}
    scores = set_f1(found, truth)
    assert scores.micro == pytest.approx(2 * 3 / (4 + 5))
    assert scores.sample == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    # a: 2 right of 2 and 2; b: 1 of 2 and 2; c: 0 of 0 and 1.
    assert scores.macro == pytest.approx((1.0 + 0.5 + 0.0) / 3)
    assert (scores.exact, scores.tasks) == (0.5, 4)
    with pytest.raises(InputError, match="none in common"):
        set_f1(found, {"u": "a"})


@pytest.mark.parametrize("name", SETTINGS)
def test_sets_are_at_least_as_good_as_those_of_majority_vote(name: str) -> None:
    """A third of the benchmark's tasks, one draw; a draw may lose what 300 tasks cannot show."""
    setting = SETTINGS[name]._replace(tasks=min(SETTINGS[name].tasks, 300))
    crowd = simulate(setting, 11)
    scores, _ = ours(crowd)
    # The standard error of F1 on 300 tasks with 3 choices each is about 0.01.
    assert scores.micro > set_f1(crowd.majority(), crowd.true_sets()).micro - 0.01


def test_the_confidence_of_sets_is_how_often_they_are_right() -> None:
    scores, confidence = ours(simulate(Setting(5), 3))
    # A share of 1,000 sets has a standard error of 0.014.
    assert confidence == pytest.approx(scores.exact, abs=0.04)
