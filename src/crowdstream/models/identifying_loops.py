# cython: language_level=3
# cython: infer_types=True
"""Whether a crowd can be identified by its agreement, and if not, why: the rule, compiled.

Numbers in, a code out; `crowdstream.models.fallback` has the words. Changing it changes when
every estimator that weighs votes falls back to counting them.
"""

import cython

if cython.compiled:
    from cython.cimports.crowdstream.models.rows import *
else:
    from crowdstream.models.rows import *


def reason_of(met, all_met, met_workers, evidence, classes):
    """Why a crowd cannot be identified by agreement, or 0 if it can.

    ``met``: pairs of labels on the same task, in the largest group of workers who share tasks, who
    are ``met_workers``; ``all_met``: all such pairs. ``evidence``: standard errors by which
    agreement differs from that of guessers. ``classes``: how many were ever seen.
    """
    if met <= 0.0:
        return NO_MEETINGS
    if met_workers < 3:
        return TOO_FEW
    if classes < 2:
        return ONE_CLASS
    if met < MAIN_GROUP * all_met:
        return SEPARATE_GROUPS
    return AT_CHANCE if evidence < CHANCE else IDENTIFIED


def find_reason(
    met: cython.double,
    all_met: cython.double,
    met_workers: cython.Py_ssize_t,
    evidence: cython.double,
    classes: cython.Py_ssize_t,
):
    """`reason_of` for Python."""
    return reason_of(met, all_met, met_workers, evidence, classes)
