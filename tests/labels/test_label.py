from __future__ import annotations

import enum
import math

import numpy as np
import pandas as pd
import pytest

from crowdstream.errors import InputError
from crowdstream.labels import clean_id, clean_label


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("spam", "spam"),
        ("", ""),
        (3, 3),
        (True, True),
        (np.int32(3), 3),
        (np.bool_(False), False),
        (np.str_("x"), "x"),
        (np.array(7), 7),
        (Colour.RED, "red"),
        (3.0, 3),
        (None, None),
        (math.nan, None),
        (np.float64("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (2**64 - 1, 2**64 - 1),
        (-(2**63), -(2**63)),
    ],
)
def test_labels_become_plain_values(given: object, kept: object) -> None:
    found = clean_label(given, "here")
    assert (type(found), found) == (type(kept), kept)


@pytest.mark.parametrize("given", [0.5, math.inf, b"x", [1], {}, 2**64, -(2**63) - 1, 1j, object()])
def test_what_is_not_a_label_is_refused_by_place(given: object) -> None:
    with pytest.raises(InputError, match="row 7") as caught:
        clean_label(given, "row 7")
    assert len(str(caught.value)) < 200


def test_a_boolean_is_a_label_but_not_a_name() -> None:
    assert clean_label(np.True_, "label") is True
    for value in (True, np.True_):
        with pytest.raises(InputError, match="expected str or int, found bool True"):
            clean_id(value, "worker")
