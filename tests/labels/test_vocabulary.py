from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from crowdstream.labels import UNKNOWN, Vocabulary

values = st.one_of(st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "1", "True"]))


@given(st.lists(values))
def test_codes_are_places_of_first_appearance(words: list[str | int | bool]) -> None:
    vocabulary = Vocabulary(words)
    kept = vocabulary.to_list()
    assert [vocabulary.code(word) for word in kept] == list(range(len(kept)))
    assert {(type(w), w) for w in kept} == {(type(w), w) for w in words}
    assert Vocabulary(kept).to_list() == kept


@given(st.lists(values), st.lists(values))
def test_truncate_undoes_adding(
    first: list[str | int | bool], more: list[str | int | bool]
) -> None:
    vocabulary = Vocabulary(first)
    before = vocabulary.to_list()
    for word in more:
        vocabulary.add(word)
    vocabulary.truncate(len(before))
    assert vocabulary.to_list() == before
    assert all((word in vocabulary) == (word in Vocabulary(before)) for word in more)


def test_true_one_and_the_string_one_are_three_words() -> None:
    vocabulary = Vocabulary([1, True, "1"])
    assert [vocabulary.code(word) for word in (True, "1", 1, 2)] == [1, 2, 0, UNKNOWN]


def test_a_copy_grows_alone() -> None:
    vocabulary = Vocabulary(["a"])
    twin = vocabulary.copy()
    twin.add("b")
    assert len(vocabulary) == 1
