"""Joint errors of workers in words. The rule is `crowdstream.models.dependence`."""

from __future__ import annotations

from crowdstream.models.dependence import (
    CANNOT_TELL,
    ERR_TOGETHER,
    INDEPENDENT,
    NOT_MEASURED,
    Z95,
    Dependence,
)

BRIEFLY = {
    INDEPENDENT: "errors look independent",
    CANNOT_TELL: "too few labels to tell whether errors are independent",
    ERR_TOGETHER: "these workers make mistakes together",
    NOT_MEASURED: "this method does not measure whether errors are independent",
}
"""Each verdict in the few words that a tile or a row has room for."""

CONSEQUENCE = {
    INDEPENDENT: "",
    CANNOT_TELL: "",
    ERR_TOGETHER: ": confidence is lowered because of it, and only gold can show how often nearly "
    "all of them are wrong",
    NOT_MEASURED: "",
}
"""Consequence of each verdict."""


def describe_dependence(found: Dependence) -> str:
    """Return a sentence on whether workers make mistakes together, without its full stop.

    Parameters
    ----------
    found
        `Estimator.dependence_`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> crowd = cs.Adaptive().fit(cs.simulate(10, 5000, p=0.2).labels())
    >>> describe_dependence(crowd.dependence_).partition(" (")[0]
    'errors look independent'
    """
    return BRIEFLY[found.verdict] + measured_words(found) + CONSEQUENCE[found.verdict]


def measured_words(found: Dependence) -> str:
    """Return the measured excess with its 95 % margin in brackets; nothing if there is none.

    >>> measured_words(Dependence("cannot_tell", 0.014, 0.014))
    ' (excess error correlation 0.014 ± 0.027)'
    """
    if found.excess is None or found.error is None:
        return ""
    excess = f"{found.excess:.3f}".replace("-", "−")
    return f" (excess error correlation {excess} ± {Z95 * found.error:.3f})"
