"""Notes on the page of the paper: scope, choices, slips, what was not checked."""

VERDICTS = (
    "A claim “holds” or “does not hold” as it is read; where two fair readings differ it is “our "
    "reading”, and both are told; where noise is as large as what is asked for, or a bound says "
    "nothing, it “cannot be told”. In every experiment `AgreementBased`, the program that draws "
    "the charts and a plain transcription of the paper run beside each other on the same labels: "
    "where they differ, that is a bug of ours and nothing is said of the paper."
)

SCOPE = (
    "Theorems 1 to 3 are about the algorithm as printed: answer rate α known, nothing shrunk, "
    "nothing clipped, which is `AgreementBased(answer_rate=α, shrinkage=0, clip=0)`. They promise "
    "nothing of the library's defaults, which shrink, clip and do without α."
)

CHOICES = (
    "Synthetic crowds: half of the workers err with p₁, half guess; q is the mean error rate. The "
    "algorithm is the printed one, for all repetitions at once in NumPy, compared in this run with "
    "`AgreementBased(answer_rate=α, shrinkage=0, clip=0)` and `crowdstream.reference`. Estimates "
    "are not clipped, and without a fixed point they are ½ for everybody: majority vote.",
    "A worker who seems never to err (p̂ ≤ 0) has an infinite weight. As printed such votes decide "
    "alone; Figure 4 as the paper describes it needs error rates kept away from 0 and 1, "
    "here within [0.05, 0.95].",
    "One answer rate for all does not work on real crowds. Table 2 is rebuilt with each worker's "
    "own, a_i = A_i / (T α_i Σ_{j≠i} α_j), and error rates kept within [0.05, 0.95]; all tasks are "
    "decided with the final weights. Decided online, as section 3 says, the order of tasks "
    "matters: Bird's file is in an order that helps.",
    "Web merges the levels {1, 2, 3} against {4, 5}, not by the rule printed.",
    "Duchenne counts three different things: 160 images have gold, 64 workers are those of the "
    "whole file, and 1,311 is the number of different (image, worker, label) among images 2001 to "
    "2162; that match may be chance. EM is given one label a worker and image.",
    "EM is Dawid and Skene's with two coins, started from majority vote.",
)
"""Choices made to repeat the experiments, none of which the paper states."""

UNCHECKED = {
    "The curves of Figures 1 to 6.": "They are drawings whose values the text does not give; what "
    "the text says of them is checked.",
    "“This estimator (which is optimal)” (Figure 2's oracle).": "Optimal in which sense is not "
    "said. A share of misses is the unbiased estimate of least variance, which is a theorem and "
    "not a measurement.",
    "“Finite, for any q that satisfies Assumption 1.”": "No simulation shows this of every q or of "
    "endless streams; four q and the last fifth of 1,000 tasks are checked.",
    "“Suprisingly low”, “remarkable”, “as expected”.": "Opinions.",
    "Figure 6.": "The paper shows it and says nothing of it; the promise checked there is ours.",
    "“Real, publicly available datasets.”": "They are: `crowdstream_lab.datasets.REGISTRY` says "
    "where each comes from.",
    "“A standard EM algorithm known as the DS estimator.”": "How it is started and when it ends is "
    "not said.",
    "“The complexity of the AB algorithm is optimal” (section 4.2).": "A lower bound on any "
    "estimator; the costs of this one are measured.",
    "“Directly yields confidence regions” (Theorem 1).": "γ depends on the unknown p, so it does "
    "not; `theory.confidence_region` reads Lemma 2 around the estimate instead.",
}
"""Sentences that nothing here decides, and why."""

SLIPS = (
    "The crowd (0, 0, ½, …, ½) is not allowed by Assumption 1, which is strict: γ = 0 there, the "
    "equation is met at its very end, and noise decides if estimates have a solution.",
    "What cannot be told apart is p and 1 − p (printed 1 − 2p).",
    "Corollary 3: powers of log n are 1/3 (printed 3); the printed β is not of the best order.",
    "Theorem 2: λ needs a factor 1/n and counts up to 2 only; task t is decided with t − 1 tasks.",
    "Proposition 4 loses a factor 2, and Proposition 5 is not true of every crowd (p² + (1 − p)² "
    "is at least ½, not at most). Lemma 2, which rests on them, holds all the same.",
    "Proposition 7 and Theorem 3 forget that the average starts at 0: the bias needs + (1 − β)^t.",
    "Assumption 1 is more than is needed: it is enough that nobody holds half of the crowd's "
    "signal.",
)
"""Slips that `crowdstream_lab.theory` corrects."""
