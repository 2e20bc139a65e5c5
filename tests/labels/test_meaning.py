"""What files mean: no answers, spellings, kinds, questions, repeats; whole and in batches alike."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import crowdstream as cs
from crowdstream.errors import InputError, UsageError
from crowdstream.labels import ColumnNames
from crowdstream.labels.coded_labels import CodedLabels, code_frame, code_values
from crowdstream.labels.columns import Roles, find_roles
from crowdstream.labels.meaning.answers import NO_ANSWER, AnswerCleaner
from crowdstream.labels.meaning.interpreting import Interpreter, Meaning, RawLabels
from crowdstream.labels.meaning.kinds import LabelHints, find_kind
from crowdstream.labels.meaning.repeats import one_per_task
from crowdstream.labels.meaning.shaping import Shaper
from crowdstream.labels.readers import BadRows, find_sources, read_all
from tests.fuzzing import attempt, meaning_seeds, spoil
from tests.reading import labels_of

HEADER = "task,worker,label\n"


def meaning_of(path: Path, text: str, hints: LabelHints | None = None, **names: Any) -> Meaning:
    """What a file of this text means."""
    path.write_text(text)
    columns = ColumnNames(**names)
    raws = read_all(find_sources([str(path)]), columns, BadRows())
    return Interpreter(columns, hints or LabelHints(), where=path.name).whole(raws)


# Cells -----------------------------------------------------------------------------------------

SPELLINGS = st.sampled_from([str.lower, str.upper, str.title, " {}".format, "{} ".format])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*NO_ANSWER, "yes", "no", "?", "skip"]), SPELLINGS),
        min_size=1,
        max_size=30,
    )
)
def test_a_label_is_its_class_however_it_is_spelt(cells: list[tuple[str, Any]]) -> None:
    rows = [(f"t{k}", "ann", spell(label)) for k, (label, spell) in enumerate(cells)]
    for size in (len(rows), 3):
        cleaner, found = AnswerCleaner(), []
        for start in range(0, len(rows), size):
            table = cleaner.clean(code_values(rows[start : start + size]))
            found += table.frame()["label"].to_list()
        given = [None if label in NO_ANSWER else label for label, _ in cells]
        shown = dict(zip(given, found, strict=True))
        assert [shown[label] for label in given] == found, "one spelling per class"
        assert len({label for label in found if label}) == len({x for x in given if x})
        assert [label is None for label in found] == [label is None for label in given]
        assert sum(cleaner.no_answer.values()) == given.count(None)


def test_exact_and_keep_take_labels_as_they_are(tmp_path: Path) -> None:
    text = HEADER + "1,a,yes\n1,b,YES\n2,a,None\n2,b,n/a\n"
    found = meaning_of(tmp_path / "l.csv", text)
    (one,) = found.questions
    assert one.table.frame()["label"].to_list() == ["yes", "yes", None, None]
    assert found.read_as.joined == [["yes", "YES"]]
    assert found.read_as.no_answer == {"None": 1, "n/a": 1}
    assert any("'yes' = 'YES'" in note for note in found.notes)
    hints = LabelHints(exact=True, keep=("none",))
    (one,) = meaning_of(tmp_path / "l.csv", text, hints).questions
    assert one.table.frame()["label"].to_list() == ["yes", "YES", "None", None]
    with pytest.raises(InputError, match="--keep: expected a label of the input, found '-'"):
        meaning_of(tmp_path / "l.csv", text, LabelHints(keep=("-",)))


def test_a_label_that_is_no_answer_still_says_who_was_asked(tmp_path: Path) -> None:
    (one,) = meaning_of(tmp_path / "l.csv", HEADER + "1,a,yes\n1,b,NA\n2,c,-\n").questions
    assert list(one.table.workers) == ["a", "b", "c"]
    assert one.table.height == 3


def raw(rows: list[tuple[str, str, str]]) -> RawLabels:
    """Labels as a reader hands them over."""
    return RawLabels(code_values(rows), Roles("task", "worker", ("label",)))


@pytest.mark.parametrize("size", [1, 7, 60])
def test_batches_mean_what_the_whole_means(size: int) -> None:
    labels = ["yes", "Yes", "N/A", "no", "NO ", "maybe"]
    rows = [(f"t{k // 3}", f"w{k % 3}", labels[k % 6]) for k in range(60)]
    (one,) = Interpreter().whole([raw(rows)]).questions
    interpreter = Interpreter()
    batches = [raw(rows[start : start + size]) for start in range(0, len(rows), size)]
    pieces = [interpreter.batch(batch).frame() for batch in batches]
    assert pl.concat(piece.cast(pl.String) for piece in pieces).equals(one.table.frame())
    assert interpreter.no_answers == 10
    interpreter.restart()
    assert interpreter.no_answers == 0


def test_batches_refuse_what_only_all_of_them_show() -> None:
    interpreter = Interpreter(where="l.csv")
    for k in range(11):
        interpreter.batch(raw([(f"t{k}", "ann", str(k))]))
    with pytest.raises(InputError, match=r"l\.csv: .*found scores: 12 numbers from 0 to 11"):
        interpreter.batch(raw([("t11", "ann", "11")]))


# Kinds -----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1).map(lambda x: round(x, 3)), min_size=1, unique=True))
@settings(deadline=None)
def test_a_score_passes_from_the_threshold_on_and_lies_in_its_bin(scores: list[float]) -> None:
    texts = [repr(score) for score in scores]
    passed = find_kind(texts, 100, LabelHints(threshold=0.5)).recode
    binned = find_kind(texts, 100, LabelHints(bins=4))
    assert passed is not None
    assert binned.recode is not None
    for score, text in zip(scores, texts, strict=True):
        assert passed(text) == ("pass" if score >= 0.5 else "fail")
        low, _, high = str(binned.recode(text)).partition(" to ")
        assert float(low) <= score < float(high) or score == float(high) == 1.0
    assert list(binned.places.values()) == [0.125, 0.375, 0.625, 0.875]


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        (LabelHints(choices=True, ordinal=True), "--choices cannot be combined with --ordinal"),
        (LabelHints(threshold=0.5, as_classes=True), "--threshold cannot be combined with"),
        (LabelHints(threshold=float("nan")), "--threshold: expected a number"),
        (LabelHints(bins=1), "--bins: expected a number from 2 to 100"),
        (LabelHints(repeats="all"), "--repeats: expected last, first or majority"),
    ],
)
def test_hints_that_contradict_one_another_are_refused(hints: LabelHints, message: str) -> None:
    with pytest.raises((InputError, UsageError), match=message):
        find_kind(["1", "2"], 10, hints)


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["1", "2", "3", "4", "5"], None),
        ([str(k) for k in range(11)], None),
        ([str(k) for k in range(12)], "scores: 12 numbers from 0 to 11"),
        (["0", "0.5", "1"], "scores: 3 numbers from 0 to 1"),
        (["1.0", "2.0"], None),
        ([*(f"0.{k}" for k in range(1, 20)), "error"], "scores: 19 numbers"),
        ([f"word {k}" for k in range(19)], None),
        ([f"word {k}" for k in range(20)], "free text: 20 different ones in 39"),
        (["cat", "dog", "cat|dog"], "several in one, such as 'cat|dog'"),
        ([True, False], None),
    ],
)
def test_labels_are_classes_or_refused(labels: list[Any], found: str | None) -> None:
    if found is None:
        assert find_kind(labels, 39, LabelHints()).name == "classes"
        return
    with pytest.raises(InputError) as error:
        find_kind(labels, 39, LabelHints())
    assert found in str(error.value)
    assert "--as-classes" in str(error.value)
    assert find_kind(labels, 39, LabelHints(as_classes=True)).name == "classes"


# Questions -------------------------------------------------------------------------------------


def test_every_question_has_its_own_labels_and_classes(tmp_path: Path) -> None:
    rows = "".join(
        f"i{k},{judge},{question},{label}\n"
        for k in range(4)
        for judge in "ab"
        for question, label in (("tone", "warm"), ("Tone ", "cold"), ("toxic", "yes"))
    )
    found = meaning_of(tmp_path / "l.csv", "item,judge,criterion,verdict\n" + rows)
    classes = {question.name: list(question.table.classes) for question in found.questions}
    assert classes == {"tone": ["warm", "cold"], "toxic": ["yes"]}
    assert [question.table.height for question in found.questions] == [16, 8]
    assert found.read_as.text.endswith("question=criterion (2)")
    with pytest.raises(InputError, match=r"found 2: tone \(16 labels\), toxic \(8 labels\)"):
        found.only("l.csv", "--question NAME")
    one = meaning_of(tmp_path / "l.csv", "item,judge,criterion,verdict\n" + rows, question="TOXIC")
    assert list(one.only("l.csv", "").table.classes) == ["yes"]


def test_a_text_of_each_task_is_no_question(tmp_path: Path) -> None:
    rows = "".join(f"{k},{who},Is {k} even?,yes\n" for k in range(9) for who in "ab")
    found = meaning_of(tmp_path / "l.csv", "id,worker,question,label\n" + rows)
    assert [question.name for question in found.questions] == [""]
    assert found.questions[0].table.height == 18
    assert "has a value of its own per task" in found.notes[0]


def test_columns_of_labels_are_questions_and_others_are_left_out(tmp_path: Path) -> None:
    tones, toxic = ["warm", "cold", "cold"], ["no", "yes", "no", "no", "yes"]
    rows = "".join(
        f"i{k // 3},{'abc'[k % 3]},{tones[k * 7 // 2 % 3]},{toxic[k % 5]},said {k},{k}\n"
        for k in range(30)
    )
    found = meaning_of(tmp_path / "l.csv", "item,judge,tone,toxic,comment,seconds\n" + rows)
    assert [question.name for question in found.questions] == ["tone", "toxic"]
    assert set(found.read_as.left_out) == {"comment", "seconds"}
    named = meaning_of(
        tmp_path / "l.csv",
        "item,judge,tone,toxic,comment,seconds\n" + rows,
        label=("toxic",),
    )
    assert named.only("l.csv", "").table.frame()["label"].to_list() == [
        toxic[k % 5] for k in range(30)
    ]


def test_the_order_of_columns_does_not_change_their_roles() -> None:
    header = ["item", "judge", "criterion", "verdict", "epoch", "comment"]
    for shift in range(len(header)):
        roles = find_roles(ColumnNames(), header[shift:] + header[:shift], "table")
        assert roles[:5] == ("item", "judge", ("verdict",), "criterion", "epoch")


# Repeats ---------------------------------------------------------------------------------------


def test_who_is_asked_again_counts_once_and_flips_are_counted(tmp_path: Path) -> None:
    rows = "1,a,1,x\n1,a,2,y\n1,a,3,y\n1,b,1,x\n1,b,2,x\n2,a,1,x\n"
    (one,) = meaning_of(tmp_path / "l.csv", "item,judge,epoch,verdict\n" + rows).questions
    assert one.table.frame().rows() == [("1", "a", "y"), ("1", "b", "x"), ("2", "a", "x")]
    assert one.flips is not None
    assert one.flips.rows() == [("a", 1, 1), ("b", 1, 0)]


VERDICTS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.sampled_from(["x", "y", None])),
    max_size=40,
)


@settings(deadline=None)
@given(VERDICTS, st.randoms(use_true_random=False))
def test_the_most_frequent_verdict_depends_on_no_order_but_in_ties(
    rows: list[tuple[int, str, str | None]], random: Any
) -> None:
    mixed = random.sample(rows, len(rows))
    tables = [one_per_task(code_values(some)) for some in (rows, mixed)]
    said: dict[tuple[int, str], list[str | None]] = {}
    for task, worker, label in rows:
        said.setdefault((task, worker), []).append(label)
    tied = {key for key, told in said.items() if told.count("x") == told.count("y") > 0}
    kept = [
        {(t, w): x for t, w, x in found.table.frame().rows() if (t, w) not in tied}
        for found in tables
    ]
    assert kept[0] == kept[1]
    assert {*kept[0], *tied} == set(said), "who was asked stays known"
    assert tables[0].flips.sort("worker").equals(tables[1].flips.sort("worker"))


# Wide tables -----------------------------------------------------------------------------------


@settings(deadline=None)
@given(
    st.dictionaries(
        st.tuples(st.integers(0, 30), st.sampled_from(["ann", "bob", "cy"])),
        st.sampled_from(["x", "y"]),
        min_size=1,
    ),
    st.permutations(["ann", "bob", "cy", "id", "notes"]),
)
def test_a_wide_table_holds_the_labels_of_the_long_one(
    answers: dict[tuple[int, str], str], columns: list[str]
) -> None:
    wide = pl.DataFrame(
        [
            {
                "id": str(task),
                "notes": f"a remark on {task}",
                **{who: answers.get((task, who)) for who in ("ann", "bob", "cy")},
            }
            for task in sorted({task for task, _ in answers})
        ],
        schema=dict.fromkeys(columns, pl.String),
    )
    shaper = Shaper(ColumnNames(wide=True), "table")
    try:
        long: CodedLabels = code_frame(shaper.shape(wide))
    except InputError as error:  # too little to tell whose columns they are
        told = str(error)
        assert "labels that other workers gave too" in told or "two or more workers" in told
        return
    found = {(int(t), w): x for t, w, x in long.frame().rows() if x is not None}
    silent = set(shaper.left_out) - {"notes"}
    assert found == answers
    assert all(who not in silent for _, who in answers)


def test_a_column_without_labels_is_no_worker(tmp_path: Path) -> None:
    text = "id,ann,bob,cy\n1,x,y,\n2,y,x,\n"
    found = meaning_of(tmp_path / "l.csv", text, wide=True)
    assert found.read_as.left_out == {"cy": "no labels"}
    assert found.read_as.columns["worker"] == ["ann", "bob"]


# Names in one spelling -----------------------------------------------------------------------


NAMES = st.sampled_from(["ann", "Ann", " ann", "bob", "BOB", "3", "3.0"])


@settings(deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES, st.sampled_from(["yes", "YES", "NA", "no", None]))))
def test_normalised_once_is_normalised(rows: list[tuple[str, str, str | None]]) -> None:
    once = cs.normalise_labels(rows)
    assert once.height == len(rows)
    assert cs.normalise_labels(once).equals(once)
    for name in ("task", "worker", "label"):
        forms = once[name].drop_nulls().str.to_lowercase().str.strip_chars()
        assert forms.n_unique() == once[name].drop_nulls().n_unique()
    assert not once["label"].is_in(["NA"]).any()


def test_labels_that_the_caller_skips_are_no_answers() -> None:
    rows = [("t", "ann", "Skip"), ("t", "bob", "n/a"), ("t", "cy", "yes")]
    found = cs.normalise_labels(rows, skip=["skip"])
    assert found["label"].to_list() == [None, None, "yes"]


def test_files_and_tables_of_python_are_the_same_labels(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(HEADER + "1,a,yes\n1,b,YES\n2,a,NA\n2,b,no\n")
    table = cs.read_labels(path)
    assert table.equals(labels_of(find_sources([str(path)])).frame())
    assert table.equals(cs.normalise_labels(pl.read_csv(path, infer_schema=False)))


# Whatever is in a file ------------------------------------------------------------------------

GOOD = meaning_seeds()


@pytest.mark.parametrize("name", GOOD)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(draw=st.randoms(use_true_random=False), told=st.booleans())
def test_nothing_but_our_own_errors_is_raised(
    tmp_path: Path, name: str, draw: random.Random, told: bool
) -> None:
    data = spoil(name, GOOD[name], draw) if draw.random() < 0.8 else GOOD[name]
    attempt(name, data, tmp_path, draw, told=told)  # raises what is not our own


def test_a_wide_table_of_three_questions_is_refused_by_name() -> None:
    columns = {f"{who} {q}": [f"{q} yes", f"{q} no"] for q in "xyz" for who in ("ann", "bob")}
    table = pl.DataFrame({"task": ["1", "2"], **columns})
    with pytest.raises(InputError, match=r"one question .*'ann x', 'bob x'"):
        cs.MajorityVote().fit(table, wide=True)
