"""The mathematics of the paper as pure functions: what its theorems promise a crowd, and what
the best vote can reach. Knows nothing of labels, streams or estimators.

The model: n workers; worker i answers a task with probability α (``alpha``) and is then wrong
with probability p_i (``p``), independently. Its reliability is ``θ_i = 1 − 2 p_i``; the crowd's
*signal* is ``Σ θ_i = n (1 − 2q)``, with q the mean of p.

Theorems 1 to 3 are about the algorithm as printed, α known, nothing shrunk and nothing clipped:
``AgreementBased(answer_rate=α, shrinkage=0, clip=0)``. They promise nothing of the library's
defaults. Nor are they meant as stopping rules: `crowdstream paper lemmas theorems` measures how
much of each bound is used.

Where the paper slips, the functions follow what its proofs give:

- The transformation that changes nothing one can see is ``p ↦ 1 − p`` (printed ``1 − 2p``).
- Assumption 1, q < ½ − 1/n, is more than is needed. All proofs hold as soon as no worker holds
  half of the signal, ``Σ θ > 2 max θ``, which it implies; see `gamma`.
- Theorem 1 asks ε ≤ 1/20. Its proof gives ε ≤ 1/(20 √γ), and a larger ε is no likelier to be
  exceeded; see `theorem_1`.
- Propositions 4 and 5 are not true as printed (4 loses a factor 2; in 5, p² + (1 − p)² is at least
  ½ and not at most). Lemma 2, which rests on them, is; see `lemma_2`.
- In Theorem 2, λ needs a factor 1/n and must not count beyond 2, and task t is decided with what
  t − 1 tasks have taught; see `theorem_2`.
- Theorem 3 forgets that its average starts at 0; see `drift_bias`.
- In Corollary 3 the powers of log n are 1/3 (printed 3); see `best_beta`.
- Hoeffding's bound on a weighted vote needs ``Σ w_i θ_i > 0``; see `weighted_error_bound`.

Theorems 1 to 3 cover the paper's own estimate only: α known, no shrinkage, no clipping
(`AgreementBased` with ``answer_rate`` given, ``shrinkage=0, clip=0``). What really runs in large
crowds with few answers each has formulas and bounds of its own: `skill_variance` and the other
functions of the sparse regime, with proofs in docs/sparse.md.

With ``classes=K`` Theorems 1 and 2 are those of K classes that are confused evenly, which the paper
does not have; `plug_in_excess_bound` and `regret_bound` need no λ. Proofs: docs/maths.md.

A bound on a probability is never above 1, a radius around an error rate neither: where the paper
promises nothing, that is what it says.

References
----------
T. Bonald and R. Combes, A Streaming Algorithm for Crowdsourced Data Classification, 2016.
"""

from crowdstream_lab.theory.agreement import (
    agreement_rates,
    error_rates_from_agreements,
    v,
    v_0,
)
from crowdstream_lab.theory.crowd import Bounds, as_two_classes, assumption_1, eta, gamma, lambda_
from crowdstream_lab.theory.drift import (
    best_beta,
    corollary_2,
    corollary_3,
    drift_accuracy,
    drift_bias,
    theorem_3,
    theorem_3_holds,
)
from crowdstream_lab.theory.estimation import (
    Region,
    accuracy,
    confidence_region,
    corollary_1,
    lemma_1,
    lemma_2,
    tasks_needed,
    theorem_1,
)
from crowdstream_lab.theory.plug_in import (
    plug_in_excess_bound,
    regret_bound,
    worst_plug_in_excess,
)
from crowdstream_lab.theory.regret import RegretBound, theorem_2
from crowdstream_lab.theory.sparse import (
    assumed_variance,
    average_variance,
    mean_skill_variance,
    skill_variance,
)
from crowdstream_lab.theory.sparse_bounds import excess_error_bound, jensen_gap, shrunk_excess_bound
from crowdstream_lab.theory.sparse_votes import (
    SparseErrors,
    answers_to_beat_majority,
    label_signal,
    trust_limit,
    weights_beat_majority,
)
from crowdstream_lab.theory.votes import (
    ErrorRate,
    majority_error,
    majority_error_bound,
    optimal_error,
    optimal_weights,
    vote_error,
    weighted_error_bound,
)

__all__ = [
    "Bounds",
    "ErrorRate",
    "Region",
    "RegretBound",
    "SparseErrors",
    "accuracy",
    "agreement_rates",
    "answers_to_beat_majority",
    "as_two_classes",
    "assumed_variance",
    "assumption_1",
    "average_variance",
    "best_beta",
    "confidence_region",
    "corollary_1",
    "corollary_2",
    "corollary_3",
    "drift_accuracy",
    "drift_bias",
    "error_rates_from_agreements",
    "eta",
    "excess_error_bound",
    "gamma",
    "jensen_gap",
    "label_signal",
    "lambda_",
    "lemma_1",
    "lemma_2",
    "majority_error",
    "majority_error_bound",
    "mean_skill_variance",
    "optimal_error",
    "optimal_weights",
    "plug_in_excess_bound",
    "regret_bound",
    "shrunk_excess_bound",
    "skill_variance",
    "tasks_needed",
    "theorem_1",
    "theorem_2",
    "theorem_3",
    "theorem_3_holds",
    "trust_limit",
    "v",
    "v_0",
    "vote_error",
    "weighted_error_bound",
    "weights_beat_majority",
    "worst_plug_in_excess",
]
