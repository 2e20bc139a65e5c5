"""`OracleVote`: the best that can be done by those who know everybody's error rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crowdstream import InputError, WorkerId
from crowdstream_lab.baselines.common import Coded, Floats, LabelsOnly, weights_of

ErrorRates: TypeAlias = (
    Mapping[str, float] | Mapping[int, float] | Mapping[str | int, float] | ArrayLike
)
"""Error rate of each worker, by name or by number."""


@dataclass(eq=False, repr=False)
class OracleVote(LabelsOnly):
    """Votes weighted by the true error rates, which real life does not tell. The lower bound.

    With weights ``log(1/p − 1)`` (K classes: ``log((1 − p)(K − 1)/p)``, who errs choosing evenly
    among the other classes) no rule errs less, so regret is counted from here; the confidence is
    the true posterior. Rates of 0 and 1 are taken for 1e-9 and 1 − 1e-9 (`common.CERTAIN`).
    K is the number of classes in the data, at least two. Time O(labels + K tasks), one pass.

    Parameters
    ----------
    error_rates
        Of each worker by name; or an array of them for a simulated crowd, whose worker i is
        called i or, as text, w0, w1, … (w00, w01, … of more than ten).

    References
    ----------
    Bonald, Combes. A Streaming Algorithm for Crowdsourced Data Classification, 2016: Prop. 1.

    Nitzan, Paroush. Optimal decision rules in uncertain dichotomous choice situations.
    International Economic Review 23(2), 1982.

    Examples
    --------
    >>> oracle = OracleVote({"ann": 0.1, "bob": 0.4, "cy": 0.4})
    >>> rows = [("t1", "ann", "spam"), ("t1", "bob", "ham"), ("t1", "cy", "ham")]
    >>> label, confidence = oracle.fit_predict(rows).select("label", "confidence").row(0)
    >>> label, round(confidence, 6)
    ('spam', 0.8)
    """

    error_rates: ErrorRates

    def _scores(self, coded: Coded) -> Floats:
        known = _by_name(self.error_rates)
        unknown = [who for who in coded.workers if who not in known]
        if unknown:
            raise InputError("error_rates", "one for every worker", f"none for {unknown[0]!r}")
        rates = np.array([known[who] for who in coded.workers], float)
        if not ((rates >= 0) & (rates <= 1)).all():
            raise InputError("error_rates", "numbers from 0 to 1", str(rates.tolist()))
        weights = weights_of(rates, coded.n_classes)
        return coded.count(weights[coded.worker])


def _by_name(error_rates: ErrorRates) -> dict[WorkerId, float]:
    if isinstance(error_rates, Mapping):
        return dict(error_rates.items())
    rates: NDArray[np.float64] = np.asarray(error_rates, float)
    if rates.ndim != 1:
        expected = "a mapping or an array of one error rate per worker"
        raise InputError("error_rates", expected, f"an array of shape {rates.shape}")
    width = len(str(rates.size - 1))  # as `Simulated.labels` calls them
    named: dict[WorkerId, float] = dict(enumerate(rates.tolist()))
    return named | {f"w{i:0{width}}": p for i, p in named.items()}
