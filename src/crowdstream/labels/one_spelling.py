"""Many spellings of a name → one: the commonest, in a table or as names come.

Knows texts and how often they occur; nothing of tasks, workers or classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from crowdstream.labels.spelling import may_differ, normal_series, normalise, tidy, tidy_series

if TYPE_CHECKING:
    import polars as pl


class Spellings:
    """One spelling for all that is the same in normal form: the commonest of those that came first.

    ``most``: how many are remembered; the oldest are forgotten first. ``given`` and ``shown`` count
    the spellings that came in and those that went out.

    >>> spellings = Spellings()
    >>> [spellings.one(text) for text in ("Yes ", "yes", "no")]
    ['Yes', 'Yes', 'no']
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.given: dict[str, None] = {}
        self._known: dict[str, str] = {}

    @property
    def shown(self) -> int:
        """Number of different things."""
        return len(self._known)

    def shown_as(self, normal: str) -> str:
        """The spelling of a normal form that has come."""
        return self._known[normal]

    def know(self, names: Iterable[object]) -> None:
        """Go on with these spellings, those of an earlier run."""
        for name in names:
            self.one(str(name))

    def one(self, text: str) -> str:
        """The spelling of one text."""
        if self.most is None:
            self.given.setdefault(text)
        found = self._known.setdefault(normalise(text), tidy(text) or text)
        self._forget()
        return found

    def many(self, names: pl.Series, counts: pl.Series) -> pl.Series:
        """The spellings of many texts, of which each occurs so often; they are remembered."""
        import polars as pl

        table = _forms(names, counts)
        best = _commonest(table)
        if self.most is None:
            self.given |= dict.fromkeys(names.drop_nulls())
        pairs = best.iter_rows()
        chosen = [self._known.setdefault(normal, tidied) for normal, tidied in pairs]
        best = best.with_columns(shown=pl.Series(chosen, dtype=pl.String))
        self._forget()
        return table.join(best, on="normal", how="left", maintain_order="left")["shown"]

    def _forget(self) -> None:
        while self.most is not None and len(self._known) > self.most:
            del self._known[next(iter(self._known))]


def spell_alike(names: pl.Series, counts: pl.Series) -> pl.Series:
    """Texts in one spelling each, where all there are come at once: nothing is remembered."""
    import polars as pl

    if not may_differ(names):
        return names
    table = _forms(names, counts)
    if table["tidied"].n_unique() == table["normal"].n_unique():
        return table["tidied"]
    ways = table.select("normal", "tidied").unique()
    twins = ways.filter(ways["normal"].is_duplicated()).select("normal").unique()
    best = _commonest(table.join(twins, on="normal", how="semi", maintain_order="left"))
    found = table.join(best, on="normal", how="left", maintain_order="left")
    return found.select(pl.coalesce("shown", "tidied")).to_series()


def _forms(names: pl.Series, counts: pl.Series) -> pl.DataFrame:
    """Texts in normal form and tidied, and how often each occurs."""
    import polars as pl

    tidied = tidy_series(names)
    tidied = tidied.zip_with((tidied != "").fill_null(True), names)  # blanks stay what they are
    return pl.DataFrame({"normal": normal_series(names), "tidied": tidied, "count": counts})


def _commonest(forms: pl.DataFrame) -> pl.DataFrame:
    """Return the commonest spelling of each normal form, the first of equals."""
    import polars as pl

    return (
        forms.group_by("normal", "tidied", maintain_order=True)
        .agg(pl.col("count").sum())
        .sort("count", descending=True, maintain_order=True)
        .unique("normal", keep="first", maintain_order=True)
        .drop_nulls("normal")
        .select("normal", shown="tidied")
    )
