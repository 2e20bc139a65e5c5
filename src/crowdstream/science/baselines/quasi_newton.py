"""The lowest point of a smooth function, by quasi-Newton steps that never go up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crowdstream.science.baselines.common import Floats

Bound = tuple[float | None, float | None]


def lowest(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[Bound],
    steps: int,
) -> tuple[Floats, bool]:
    """Where a function is lowest near a start, and whether the steps came to an end in time.

    The function gives its value and slope; L-BFGS within bounds, at most so many steps.

    >>> import numpy as np
    >>> found, ended = lowest(lambda x: (float(x @ x), 2 * x), np.ones(2), [(0.5, None)] * 2, 10)
    >>> found.tolist(), ended
    ([0.5, 0.5], True)
    """
    from scipy.optimize import minimize

    if not start.size:
        return start, True
    options = {"maxiter": steps}
    found = minimize(function, start, method="L-BFGS-B", jac=True, bounds=bounds, options=options)
    return found.x, bool(found.success)
