# cython: language_level=3
# cython: infer_types=True
"""Whether a crowd can be identified by its agreement, and if not, why: the rule, compiled.

Numbers in, a code out; `crowdstream.estimators.fallback` has the words. Changing it changes when
every estimator that weighs votes falls back to counting them.
"""

import cython

IDENTIFIED = 0
NO_MEETINGS = 1
TOO_FEW = 2
ONE_CLASS = 3
SEPARATE_GROUPS = 4
AT_CHANCE = 5
NO_SOLUTION = 6

CHANCE = 3.0
"""Standard errors by which agreement must differ from that of a crowd that guesses."""

MAIN_GROUP = 0.95
"""The largest group of workers linked by shared tasks must hold this part of all meetings for the
crowd to count as one; the workers outside it vote with the mean weight."""

CHANCE_ = cython.declare(cython.double, CHANCE)
MAIN_GROUP_ = cython.declare(cython.double, MAIN_GROUP)


def reason_of(met, all_met, met_workers, evidence, classes):
    """Why a crowd cannot be identified by agreement, or 0 if it can.

    ``met``: pairs of labels on the same task, in the largest group of workers who share tasks, who
    are ``met_workers``; ``all_met``: all such pairs. ``evidence``: standard errors by which
    agreement differs from that of guessers. ``classes``: how many were ever seen.
    """
    if met <= 0.0:
        return 1
    if met_workers < 3:
        return 2
    if classes < 2:
        return 3
    if met < MAIN_GROUP_ * all_met:
        return 4
    return 5 if evidence < CHANCE_ else 0


def find_reason(
    met: cython.double,
    all_met: cython.double,
    met_workers: cython.Py_ssize_t,
    evidence: cython.double,
    classes: cython.Py_ssize_t,
):
    """`reason_of` for Python."""
    return reason_of(met, all_met, met_workers, evidence, classes)
