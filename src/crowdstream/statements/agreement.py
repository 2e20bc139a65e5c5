"""Agreement of labels in words: what each coefficient is for, and what to keep in mind.

Numbers with intervals and no verdict: what is good enough depends on what labels are for. One
sentence is said of data, `SKEWED`: only where the interval of Gwet's coefficient lies wholly above
that of alpha and most labels are of one class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from crowdstream.monitoring.coefficients import Coefficient, Coefficients
from crowdstream.plain_text import counted, percent, printable, shortened

if TYPE_CHECKING:
    import polars as pl

NAME = 24
"""Characters of a worker's name in a sentence."""

ORDER = ("alpha", "fleiss", "gwet", "raw")
"""Coefficients in the order in which they are shown."""

NAMES = {
    "alpha": "Krippendorff's alpha",
    "fleiss": "Fleiss' kappa",
    "gwet": "Gwet's AC1",
    "raw": "raw agreement",
}
"""Names of coefficients; Gwet's is AC2 on a scale."""

PURPOSES = {
    "alpha": "what papers ask for; gaps are fine",
    "fleiss": "as alpha; for older studies",
    "gwet": "steady where one class is frequent",
    "raw": "pairs of labels that are the same",
}
"""Purpose of each coefficient, short enough for a line of a terminal."""

ON_SCALES = {"raw": "how near two labels are; 1 is same"}
"""Purposes that differ on a scale."""

MOSTLY = 0.75
"""Share of the most frequent class from which on chance alone makes most labels agree."""

SKEWED = (
    "{share} of these labels are of one class: alpha and Fleiss' kappa are low then even where "
    "labels agree; Gwet's coefficient is not"
)

WHY_WEIGHED = (
    "Agreement says whether labels can be repeated, not whether they are right: workers who are "
    "wrong together agree, and one who guesses lowers it for all. crowdstream run asks instead how "
    "often each worker is right, and weighs its votes by that."
)
"""Why decisions do not rest on these numbers."""


def name_of(code: str, scale: str) -> str:
    """Return what a coefficient is called on a scale.

    >>> name_of("gwet", "nominal"), name_of("gwet", "ordinal")
    ("Gwet's AC1", "Gwet's AC2")
    """
    return "Gwet's AC2" if code == "gwet" and scale != "nominal" else NAMES[code]


def coefficient_row(code: str, found: Coefficients) -> dict[str, str | float | None]:
    """Return a row of a table of coefficients."""
    one: Coefficient = getattr(found, code)
    on_scale = ON_SCALES if found.scale != "nominal" else {}
    return {
        "coefficient": name_of(code, found.scale),
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "purpose": on_scale.get(code, PURPOSES[code]),
    }


def interval_words(one: Coefficient) -> str:
    """Return a coefficient and its interval in the words that a cell has room for.

    >>> interval_words(Coefficient(0.6123, 0.58, 0.6449)), interval_words(Coefficient(-0.1))
    ('0.61 (0.58–0.64)', '-0.10')
    >>> interval_words(Coefficient(0.1, -0.05, 0.25)), interval_words(Coefficient(None))
    ('0.10 (-0.05 to 0.25)', 'not defined')
    """
    if one.value is None:
        return "not defined"
    if one.low is None or one.high is None:
        return f"{one.value:.2f}"
    between = "–" if one.low >= 0 else " to "
    return f"{one.value:.2f} ({one.low:.2f}{between}{one.high:.2f})"


def agreement_words(found: Coefficients | None) -> str:
    """Return the agreement of labels in one line without its full stop; "" where none is known.

    >>> none = Coefficient(None)
    >>> alpha, raw = Coefficient(0.61, 0.58, 0.64), Coefficient(0.782, 0.76, 0.8)
    >>> agreement_words(Coefficients(alpha, none, none, raw, 90, 300, 0.5, "nominal", 0.95))
    "agreement: Krippendorff's alpha 0.61 (0.58–0.64), raw 78.2 %"
    """
    if found is None or found.raw.value is None:
        return ""
    raw = percent(found.raw.value)
    if found.alpha.value is None:
        return f"agreement: raw {raw}; all labels are of one class"
    scale = "" if found.scale == "nominal" else f"{found.scale} "
    return f"agreement: Krippendorff's {scale}alpha {interval_words(found.alpha)}, raw {raw}"


def pairs_words(pairs: pl.DataFrame, least: int, compared: int) -> str:
    """Return Cohen's kappas of pairs of workers in a sentence without its full stop."""
    shared = f"{least:,} task{'' if least == 1 else 's'} or more"
    if compared < 2:
        return "there are no two workers to compare"
    if not pairs.height:
        return f"no two of {counted(compared, 'worker')} share {shared}"
    known = pairs.drop_nulls("kappa")
    if not known.height:
        return f"Cohen's kappa of {counted(pairs.height, 'pair')} is not defined: one class each"
    first, last = known.row(0, named=True), known.row(-1, named=True)
    if known.height == 1:
        one = Coefficient(first["kappa"], first["low"], first["high"])
        return f"Cohen's kappa of {_two(first)} {interval_words(one)}"
    return (
        f"Cohen's kappa of {counted(known.height, 'pair')} that share {shared}: median "
        f"{np.median(known['kappa']):.2f}, from {first['kappa']:.2f} ({_two(first)}) to "
        f"{last['kappa']:.2f} ({_two(last)})"
    )


def _two(pair: Mapping[str, object]) -> str:
    one, other = (shortened(printable(pair[name]), NAME) for name in ("one", "other"))
    return f"{one} and {other}"


def agreement_notes(found: Coefficients) -> list[str]:
    """Return what to keep in mind of these numbers, in sentences without their full stops."""
    notes = []
    values = found.alpha, found.fleiss, found.gwet
    if found.raw.value is not None and any(one.value is None for one in values):
        notes.append("all labels are of one class: agreement beyond chance is not defined")
    if is_skewed(found):
        notes.append(SKEWED.format(share=percent(found.commonest)))
    if any(one.value is not None and one.low is None for one in (*values, found.raw)):
        notes.append("no intervals: there are too few tasks, or too many classes on the scale")
    return notes


def is_skewed(found: Coefficients) -> bool:
    """Return whether alpha is low because nearly all labels are of one class."""
    if found.alpha.high is None or found.gwet.low is None:
        return False
    return found.commonest >= MOSTLY and found.gwet.low > found.alpha.high
