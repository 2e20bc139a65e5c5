# cython: language_level=3
# cython: infer_types=True
"""The paper's fixed point, v = f(â, v), rewritten by shares. Compiled; arrays in, numbers out.

With R_i worker i's agreements minus disagreements with the others of its tasks, find the scale
u > 0 with Σ_i (1 − √(1 − u R_i)) = 2. The term of i is its *share* of the crowd's signal. It is
the paper's ``v = f(â, v)``: share_i = 1 − √(δ_i/v), u = 4/(n² v t).

The unknown here is the share h of the worker with the largest R ("the top"), from which
u = h (2 − h)/R_top: smooth where u is not. 0 < h ≤ 1 is the paper's equation, 1 < h < 2 the one
with the root of the top's term flipped, for a worker who holds over half of the crowd's signal.

Changing it changes what `AgreementBased` decides, and is held against the paper by its tests;
nothing that is saved.
"""

import cython

if cython.compiled:
    from cython.cimports.libc.math import fabs, sqrt
else:
    from math import fabs, sqrt

SOLVED = 0
FLAT = 1
NO_SOLUTION = 2

STEEP = cython.declare(cython.double, 1e-4)  # a share above 1 is believed where the curve is steep
TINY = cython.declare(cython.double, 1e-300)  # keeps 0/0 from being NaN, and 1/R finite


def excess(agreement, top, share, slope):
    """Σ shares − 2 where the top's share is ``share``; its derivative in it goes to ``slope``."""
    unit = 1.0 / agreement[top]
    z = 1.0 - share
    scale = share * (2.0 - share) * unit
    total: cython.double = 0
    rise: cython.double = 0
    for i in range(agreement.shape[0]):
        r = agreement[i]
        # Not 1 − u r, which cancels where r is near the top.
        root = sqrt((agreement[top] - r) * unit + r * unit * z * z) + TINY
        total += scale * r / (1.0 + root)
        rise += r * unit * z / root
    if share >= 1.0:  # the loop took the top's root with the ordinary sign
        total += 2.0 * (share - 1.0)
        rise = rise + 2.0 if share > 1.0 else 1.0
    slope[0] = rise
    return total - 2.0


def bracketed(agreement, top, low, high, slope):
    """The root of `excess` between two points of different sign: Newton, kept in its bracket."""
    rising: cython.bint = excess(agreement, top, low, slope) <= 0.0
    share: cython.double = 0.5 * (low + high)
    for _ in range(200):
        value = excess(agreement, top, share, slope)
        if value == 0.0:
            return share
        if (value < 0.0) == rising:
            low = share
        else:
            high = share
        moved: cython.double = share - value / slope[0] if slope[0] != 0.0 else low
        if not low < moved < high:
            moved = 0.5 * (low + high)
        if fabs(moved - share) <= 4e-16 * fabs(share):
            return moved
        share = moved
    return share


def solve(
    agreement: cython.double[::1],
    dominant: cython.bint,
    shares: cython.double[::1],
    slope: cython.double[::1],
):
    """Status and scale u; fills every worker's share, 0 without a solution.

    ``dominant`` allows a share above 1; the paper does not, and finds no solution there.
    ``slope`` has space for one number.
    """
    n = agreement.shape[0]
    top: cython.Py_ssize_t = 0
    flat: cython.bint = True
    total: cython.double = 0
    at_one: cython.double = -2.0
    share: cython.double = 0
    with cython.nogil:
        for i in range(n):
            shares[i] = 0.0
            total += agreement[i]
            if agreement[i] != 0.0:
                flat = False
            if agreement[i] > agreement[top]:
                top = i
    if flat:
        return FLAT, 0.0
    most = agreement[top]
    if most < TINY:  # nothing, or too little to divide by
        return NO_SOLUTION, 0.0
    with cython.nogil:
        # Whether the paper's equation has a root: its excess at share 1, without a rounding where
        # terms are 0 or 1, as for two workers who always agree among guessers.
        for i in range(n):
            r = agreement[i]
            at_one += (r / most) / (1.0 + sqrt((most - r) / most))
        if at_one >= 0.0:
            share = bracketed(agreement, top, 0.0, 1.0, slope)
        elif dominant and total > 2.0 * most:  # the others agree among themselves
            # Near share 2 the excess is (2 − h)(ΣR − 2 R_top)/R_top > 0: a root lies before it.
            high: cython.double = 1
            for _ in range(1, 40):
                high = 0.5 * (high + 2.0)
                if excess(agreement, top, high, slope) > 0.0:
                    share = bracketed(agreement, top, 1.0, high, slope)
                    excess(agreement, top, share, slope)
                    if slope[0] < STEEP:
                        share = 0.0
                    break
        if share > 0.0:
            for i in range(n):
                r = agreement[i]
                shares[i] = (
                    share
                    * (2.0 - share)
                    / most
                    * r
                    / (1.0 + sqrt(((most - r) + r * (1.0 - share) * (1.0 - share)) / most))
                )
            shares[top] = share
    if share > 0.0:
        return SOLVED, share * (2.0 - share) / most
    return NO_SOLUTION, 0.0
