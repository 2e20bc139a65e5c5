"""Whether workers make mistakes together: the only thresholds, and the verdict by them.

`independence` measures the excess correlation that is judged here.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

from crowdstream.defaults import LEVEL

TOGETHER = 0.04
"""Excess correlation of errors within a task from which on workers are taken to err together:
independent simulated crowds have 0.00 ± 0.01, nearly all real ones 0.02 to 0.19."""

INDEPENDENT, CANNOT_TELL, ERR_TOGETHER, NOT_MEASURED = (
    "independent",
    "cannot_tell",
    "together",
    "not_measured",
)
"""What may be said of a crowd, see `verdict`."""

NEGLIGIBLE = 0.01
"""Excess correlation that is no matter. What is measured at the posterior of the same labels is a
quarter to two thirds of the true correlation, so that 0.01 may be `TOGETHER`; and independent
simulated crowds with very many labels are off by up to this, since twins are fitted too."""

Z95 = NormalDist().inv_cdf((1.0 + LEVEL) / 2.0)
"""Standard errors on either side of the interval by which `verdict` judges."""

COMPANIONS = 2.0
"""Other labels that a label must meet on its task, in the mean, for joint errors to be told from
confusions: these need three views (Kruskal, 1977)."""


class Dependence(NamedTuple):
    """Whether workers make mistakes together, as far as their labels show.

    Parameters
    ----------
    verdict
        ``"together"``: the excess correlation is above 0.01, with 95 % confidence;
        ``"independent"``: it is below. ``"cannot_tell"``: neither is shown. ``"not_measured"``: by
        an estimator that does not measure it.
    excess, error
        Excess correlation of errors within a task over that of independent workers, and its
        standard error; ``None`` where nothing was measured.
    """

    verdict: str
    excess: float | None = None
    error: float | None = None

    @property
    def most(self) -> float:
        """Return the highest excess that labels allow, over the one from which on it matters.

        At most 1; 1 where nothing was measured.
        """
        if self.excess is None or self.error is None:
            return 1.0
        return min((max(self.excess, 0.0) + Z95 * self.error) / TOGETHER, 1.0)


def verdict(excess: float, pairs: float, companions: float) -> Dependence:
    """Say whether workers err together, by an excess correlation measured on pairs of labels.

    ``companions``: how many other labels a label meets on its task, in the mean.

    >>> verdict(0.0, 10_000, 4.0).verdict, verdict(0.2, 10_000, 4.0).verdict
    ('cannot_tell', 'together')
    >>> verdict(0.0, 100_000, 4.0).verdict
    'independent'
    """
    if not pairs:
        return Dependence(CANNOT_TELL)
    error = error_of_excess(pairs)
    found = CANNOT_TELL
    if companions < COMPANIONS:
        pass
    elif excess - Z95 * error > NEGLIGIBLE:
        found = ERR_TOGETHER
    elif max(excess, 0.0) + Z95 * error < NEGLIGIBLE:
        found = INDEPENDENT
    return Dependence(found, excess, error)


def error_of_excess(pairs: float) -> float:
    """The standard error of an excess measured on so many pairs of labels.

    Among independent workers a correlation from so many pairs has the variance 1/pairs, and so has
    a twin's.
    """
    return float((2.0 / max(pairs, 1.0)) ** 0.5)
