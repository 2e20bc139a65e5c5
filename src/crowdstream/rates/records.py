"""What was found of rates: records, and the same as a table and in words. Computes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from crowdstream.labels import ClassLabel
from crowdstream.plain_text import counted, printable, shortened
from crowdstream.rates.needed import Spread, gold_for_width
from crowdstream.statements.rates import difference_words

if TYPE_CHECKING:
    import polars as pl

NAME = 16
"""Characters of a name that the summary shows."""

SHARE, ACCURACY = "share", "accuracy"
"""What rates are of: classes, or what a system gets right."""

FIRST, VERSUS, DIFFERENCE = "", "versus", "difference"
"""Whose rate it is: the first system's, the second's, or the first's less the second's."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A share of all tasks, corrected by gold.

    Attributes
    ----------
    name
        The class, or ``"accuracy"``.
    side
        ``""``; where two systems are compared also ``"versus"`` and ``"difference"``.
    decided
        The share decided so: the raw rate.
    panel
        The panel's mean probability.
    gold, gold_low, gold_high
        By gold alone, with its interval.
    value, low, high
        Corrected by gold, with its interval.
    power
        λ, the weight that the panel's predictions were given; 0 is gold alone.
    worth
        How many gold labels alone would give as narrow an interval.
    spread
        What the width depends on, for `gold_for_width`.
    """

    name: ClassLabel
    side: str = FIRST
    decided: float
    panel: float
    gold: float
    gold_low: float
    gold_high: float
    value: float
    low: float
    high: float
    power: float
    worth: float
    spread: Spread


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of all tasks, corrected by gold: see `rate`.

    Attributes
    ----------
    what
        ``"share"`` of each class, or ``"accuracy"`` of a system.
    tasks, gold_tasks
        How many tasks, and how many of them gold.
    stratified
        Whether gold was drawn by strata (`gold_needed`); if not, it is taken for a random sample.
    level
        Level of the intervals.
    rates
        A `Rate` per class, and of each system where there are two.
    notes
        What to know, in plain words.
    """

    what: str
    tasks: int
    gold_tasks: int
    stratified: bool
    level: float
    rates: list[Rate]
    notes: list[str]

    def __getitem__(self, name: ClassLabel) -> Rate:
        """The rate of a class; of two systems, the difference."""
        found = [each for each in self.rates if str(each.name) == str(name)]
        if not found:
            raise KeyError(name)
        return found[-1]

    @property
    def table(self) -> pl.DataFrame:
        """One row per rate, with the names of `Rate`.

        Examples
        --------
        >>> import crowdstream as cs
        >>> made = cs.simulate(7, 300, p=0.2)
        >>> cs.rate(made.labels(), made.truths().head(40)).table.columns[:4]
        ['name', 'side', 'decided', 'panel']
        """
        import polars as pl

        rows = [msgspec.structs.asdict(each) for each in self.rates]
        for row in rows:
            row["name"] = str(row["name"])
            del row["spread"]
        return pl.DataFrame(rows)

    def gold_for_width(self, width: float) -> dict[ClassLabel, int | None]:
        """Return how many gold labels, in all, each rate needs for an interval of this width.

        None stands for more than there are tasks.

        Parameters
        ----------
        width
            From the low to the high limit.

        Examples
        --------
        >>> import crowdstream as cs
        >>> made = cs.simulate(7, 2000, p=0.2)
        >>> found = cs.rate(made.labels(), made.truths().head(50))
        >>> found.gold_for_width(0.1)["0"] < cs.gold_for_width(0.1)
        True
        """
        side = DIFFERENCE if self.compares else FIRST
        asked = {each.name: each.spread for each in self.rates if each.side == side}
        found = {name: gold_for_width(width, each, self.level) for name, each in asked.items()}
        return {
            name: None if number is None or number > self.tasks else number
            for name, number in found.items()
        }

    @property
    def compares(self) -> bool:
        """Whether two systems are compared."""
        return any(each.side == DIFFERENCE for each in self.rates)

    def __repr__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """Return the findings in plain words.

        Examples
        --------
        >>> import crowdstream as cs
        >>> made = cs.simulate(7, 300, p=0.2)
        >>> print(cs.rate(made.labels(), made.truths().head(40)).summary().splitlines()[0])
        share of each class: 300 tasks, 40 of them gold, taken for a random sample
        """
        drawn = "drawn by strata" if self.stratified else "taken for a random sample"
        of = "share of each class" if self.what == SHARE else "accuracy"
        lines = [f"{of}: {counted(self.tasks, 'task')}, {self.gold_tasks:,} of them gold, {drawn}"]
        lines += _rate_lines(self.rates, self.level)
        for each in self.rates:
            if each.side == DIFFERENCE:
                what = "the accuracy" if self.what == ACCURACY else f"the share of {each.name}"
                lines.append(difference_words(printable(what), each.value, each.low, each.high))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _rate_lines(rates: list[Rate], level: float) -> list[str]:
    """A table of at most 80 columns."""
    names = [shown_name(each) for each in rates]
    width = max(5, *map(len, names))
    head = f"corrected ({100 * level:.4g} %)"
    lines = [f"{'%':<{width}}  decided  {'gold alone':<22}  {head:<22}  worth"]
    for name, each in zip(names, rates, strict=True):
        gold = in_percent(each.gold, each.gold_low, each.gold_high)
        found = in_percent(each.value, each.low, each.high)
        decided = f"{100 * each.decided:.1f}"
        lines.append(f"{name:<{width}}  {decided:>7}  {gold:<22}  {found:<22}  {each.worth:>5,.0f}")
    return [*lines, WORTH]


WORTH = "worth: gold labels that would give as narrow an interval by themselves"
"""What the last column is."""


def in_percent(value: float, low: float, high: float) -> str:
    """A share with its limits, in per cent.

    >>> in_percent(0.683, 0.601, 0.759)
    '68.3 (60.1 to 75.9)'
    """
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def shown_name(each: Rate) -> str:
    """What a row of a table is called: below a class, the other system and the difference."""
    return f"  {each.side}" if each.side else shortened(printable(each.name), NAME)
