"""Texts that mean the same and look different."""

from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdstream.labels.choice_cells import several_choices
from crowdstream.labels.scale import looks_like_scale, scale_of
from crowdstream.labels.spelling import (
    find_twins,
    may_differ,
    normal_series,
    normalise,
    tidy,
    tidy_series,
)

TEXTS = st.lists(st.text(st.characters(codec="utf-8"), max_size=8) | st.from_regex(r"[ +-]?\d\.0*"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("yes", "YES"),
        ("yes", " yes\t"),
        ("don't know", "Don't  know"),
        ("café", "cafe\u0301"),
        ("naïve", "NAÏVE"),
        ("straße", "STRASSE"),
        ("3", "3.0"),
        ("3", "3."),
        ("-1", "-1.00"),
        ("yes", "\ufeffyes"),
        ("a b", "a\u00a0b"),
    ],
)
def test_spellings_of_the_same_have_one_normal_form(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)
    assert find_twins([one, "else", other]) == [[one, other]]


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.1", "1.10"), ("7", "07"), ("yes", "yes!"), ("v3", "v3.0"), ("²", "2"), ("a", "á")],
)
def test_what_may_be_different_stays_different(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert find_twins([one, other]) == []


@given(TEXTS)
def test_columns_are_normalised_as_texts_are(texts: list[str]) -> None:
    column = pl.Series([*texts, None], dtype=pl.String)
    assert normal_series(column).to_list() == [*map(normalise, texts), None]
    assert tidy_series(column).to_list() == [*map(tidy, texts), None]


@given(st.text(st.characters(codec="utf-8")))
def test_a_normal_form_is_its_own_and_is_tidy(text: str) -> None:
    form = normalise(text)
    assert normalise(form) == form
    assert unicodedata.is_normalized("NFC", form)
    assert form == form.strip()


@given(TEXTS)
def test_the_quick_look_misses_nothing(texts: list[str]) -> None:
    column = pl.Series(texts, dtype=pl.String)
    if any(normalise(text) != text for text in texts):
        assert may_differ(column)


@given(TEXTS)
def test_twins_are_all_that_share_a_normal_form(texts: list[str]) -> None:
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        groups.setdefault(normalise(text), []).append(text)
    assert find_twins(texts) == [group for group in groups.values() if len(group) > 1]


@pytest.mark.parametrize(
    "cell", ["cat|dog", "cat;dog", "cat, dog", '["cat", "dog"]', "['cat','dog']"]
)
def test_several_choices_in_a_cell_are_seen(cell: str) -> None:
    assert several_choices(["cat", "dog", cell]) == [cell]


def test_several_choices_are_seen_where_nobody_chose_one() -> None:
    assert several_choices(["a|b", "b|c", "a|c"]) == ["a|b", "b|c", "a|c"]


def test_a_separator_alone_makes_no_list() -> None:
    assert several_choices(["New York, NY", "Paris", "yes; quite sure", "|", "[", "[" * 5000]) == []


# Scales --------------------------------------------------------------------------------------


def test_numbers_are_ordered_by_value_and_names_as_told() -> None:
    assert list(scale_of(["10", "9", "-1", "2.5"])) == ["-1", "2.5", "9", "10"]
    assert scale_of(["mid"], ["low", "mid"]) == {"low": 0.0, "mid": 1.0}


@pytest.mark.parametrize(
    ("classes", "order", "message"),
    [
        (["low", "2"], None, "the classes in their order.*none for 'low'"),
        (["low", "nan"], ["low"], "all classes, 'nan' too, found low"),
        (["low"], ["low", "low"], "every class once"),
        (["1", "inf"], None, "none for 'inf'"),
    ],
)
def test_an_order_that_leaves_a_class_out_is_refused(
    classes: list[str], order: list[str] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        scale_of(classes, order)


@pytest.mark.parametrize(
    ("classes", "steps"),
    [
        (list("12345"), "1 to 5"),
        (list("321"), "1 to 3"),
        (list("1245"), "1 to 5"),
        (["-2", "-1", "0", "1", "2"], "-2 to 2"),
        ([str(k) for k in range(11)], "0 to 10"),
        (list(range(1, 6)), "1 to 5"),
        ([str(k) for k in range(12)], ""),
        (["0.5", "1", "2"], ""),
        (["7", "300", "41"], ""),
        (["0", "1"], ""),
        (list("abcd"), ""),
        ([], ""),
    ],
)
def test_three_to_eleven_whole_numbers_look_like_a_scale(
    classes: list[str | int], steps: str
) -> None:
    assert looks_like_scale(classes) == steps
