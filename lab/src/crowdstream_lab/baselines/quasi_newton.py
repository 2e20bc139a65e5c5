"""The lowest point of a smooth function, by quasi-Newton steps that never go up."""

from __future__ import annotations

from collections.abc import Callable

from crowdstream_lab.baselines.common import Floats


def lowest(
    function: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    steps: int,
    limits: tuple[Floats, Floats] | None = None,
) -> tuple[Floats, bool]:
    """Find where a function is lowest near a start, and whether the steps ended in time.

    The function gives its value and slope; L-BFGS within lower and upper limits, at most so many
    steps.

    >>> import numpy as np
    >>> limits = np.full(2, 0.5), np.full(2, np.inf)
    >>> found, ended = lowest(lambda x: (float(x @ x), 2 * x), np.ones(2), 10, limits)
    >>> found.tolist(), ended
    ([0.5, 0.5], True)
    """
    from scipy.optimize import Bounds, minimize

    if not start.size:
        return start, True
    found = minimize(
        function,
        start,
        method="L-BFGS-B",
        jac=True,
        bounds=None if limits is None else Bounds(*limits),
        options={"maxiter": steps},
    )
    return found.x, bool(found.success)
