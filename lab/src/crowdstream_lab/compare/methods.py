"""The methods that can be compared, found by name: ours, the baselines, crowd-kit's.

Loads none of them before it is needed.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crowdstream import InputError

if TYPE_CHECKING:
    pass


OURS, BASELINE, CROWDKIT = "crowdstream", "baseline", "crowd-kit"


YARDSTICK = "majority"
"""The method that all others are held against; it is always among them."""


REFERENCE = "adaptive"
"""The library's own default: every method is also held against it, where it takes part."""


@dataclass(frozen=True)
class Method:
    """A class with ``fit_predict(labels)``, found by name when it is needed.

    ``algorithm`` names the published algorithm it implements; None for the library's own and for
    variants of ours. Rows that share a name are one algorithm. ``two_only``: refuses more than two
    classes. ``majority``: is a majority vote, so that what a tie costs is known exactly for any
    number of classes.
    """

    name: str
    family: str
    module: str
    kind: str
    algorithm: str | None = None
    two_only: bool = False
    majority: bool = False

    def installed(self) -> bool:
        """True if the method is installed; rivals are not loaded, which takes seconds."""
        if self.family == CROWDKIT:
            return importlib.util.find_spec("crowdkit") is not None
        try:
            return hasattr(importlib.import_module(self.module), self.kind)
        except ModuleNotFoundError:
            return False

    def make(self) -> Any:
        """A new one, as it is by default."""
        return getattr(importlib.import_module(self.module), self.kind)()

    def deviation(self) -> str:
        """In what a baseline is not as published, in a phrase; empty if in nothing."""
        if self.family != BASELINE:
            return ""
        kind = getattr(importlib.import_module(self.module), self.kind)
        return str(getattr(kind, "deviation", ""))


def _baseline(name: str, kind: str, algorithm: str | None) -> Method:
    return Method(name, BASELINE, "crowdstream_lab.baselines", kind, algorithm)


def _crowdkit(
    kind: str, algorithm: str | None, *, two_only: bool = False, majority: bool = False
) -> Method:
    return Method(
        f"ck:{kind}", CROWDKIT, "crowdkit.aggregation", kind, algorithm, two_only, majority
    )


DAWID_SKENE = "Dawid and Skene"
ONE_COIN = "one-coin Dawid and Skene"
KARGER_OH_SHAH = "Karger, Oh and Shah: message passing"
"""Algorithms that crowd-kit has under another name."""


METHODS = (
    Method(YARDSTICK, OURS, "crowdstream.estimators", "MajorityVote", majority=True),
    Method("agreement", OURS, "crowdstream.estimators", "AgreementBased"),
    Method("centred", OURS, "crowdstream.estimators", "CentredAgreement"),
    Method(REFERENCE, OURS, "crowdstream.estimators", "Adaptive"),
    _baseline("dawid-skene", "DawidSkene", DAWID_SKENE),
    _baseline("one-coin-em", "OneCoinEM", ONE_COIN),
    _baseline("one-coin-map", "OneCoinMAP", None),
    _baseline("spectral-em", "SpectralEM", "Zhang, Chen, Zhou and Jordan"),
    _baseline("minimax-entropy", "MinimaxEntropy", "Zhou, Basu, Mao and Platt"),
    _baseline("raykar", "Raykar", "Raykar and others"),
    _baseline("belief-propagation", "BeliefPropagation", "Liu, Peng and Ihler: belief propagation"),
    _baseline("mean-field", "MeanField", "Liu, Peng and Ihler: mean field"),
    _baseline("karger-oh-shah", "KargerOhShah", KARGER_OH_SHAH),
    _baseline("karger-oh-shah-svd", "KargerOhShahSVD", "Karger, Oh and Shah: singular vectors"),
    _baseline("ghosh-kale-mcafee", "GhoshKaleMcAfee", "Ghosh, Kale and McAfee"),
    _baseline("dalvi", "Dalvi", "Dalvi, Dasgupta, Kumar and Rastogi"),
    _baseline("spectral-meta-learner", "SpectralMetaLearner", "Parisi and others"),
    _baseline("triangular", "TriangularEstimation", "Bonald and Combes: triangular estimation"),
    _baseline("triangular-overlap", "OverlapTriangularEstimation", None),
    _baseline("welinder-perona", "WelinderPerona", "Welinder and Perona"),
    _baseline("recursive-em", "RecursiveEM", "Wang, Abdelzaher, Kaplan and Aggarwal"),
    _baseline("streaming-ds", "StreamingDawidSkene", None),
    _baseline("sbic", "SBIC", "SBIC"),
    _baseline("one-pass-vote", "OnePassAgreementVote", None),
    _baseline("glad", "GLAD", "GLAD"),
    _baseline("mace", "MACE", "MACE"),
    _baseline("zencrowd", "ZenCrowd", "ZenCrowd"),
    _baseline("bcc", "BCC", "BCC"),
    _baseline("ebcc", "EBCC", "EBCC"),
    _baseline("catd", "CATD", "CATD"),
    _baseline("pm", "PM", "PM"),
    _baseline("wawa", "Wawa", "Wawa"),
    _baseline("zero-based-skill", "ZeroBasedSkill", "ZeroBasedSkill"),
    _baseline("ising-vote", "IsingVote", "Balasubramanian, Podkopaev and Kasiviswanathan"),
    _baseline("la-one-pass", "LightweightOnePass", "LA onepass"),
    _baseline("la-two-pass", "LightweightTwoPass", "LA twopass"),
    _baseline("iwmv", "IWMV", "IWMV"),
    _baseline("bwa", "BWA", "BWA"),
    _baseline("ptbcc", "PTBCC", "PTBCC"),
    _crowdkit("MajorityVote", None, majority=True),
    _crowdkit("DawidSkene", DAWID_SKENE),
    _crowdkit("OneCoinDawidSkene", ONE_COIN),
    _crowdkit("GLAD", "GLAD"),
    _crowdkit("MACE", "MACE"),
    _crowdkit("MMSR", "MMSR"),
    _crowdkit("Wawa", "Wawa"),
    _crowdkit("ZeroBasedSkill", "ZeroBasedSkill"),
    _crowdkit("KOS", KARGER_OH_SHAH, two_only=True),
)
"""All that are known. Those that need more than labels (Hui and Walter's populations, the oracles'
truths) are not comparable and not here."""


QUICK = (
    YARDSTICK,
    "agreement",
    "centred",
    REFERENCE,
    "dawid-skene",
    "one-coin-em",
    "mean-field",
    "karger-oh-shah",
    "spectral-meta-learner",
    "sbic",
    "glad",
    "mace",
    "zencrowd",
    "wawa",
)
"""Methods of a quick look: ours, and of the rivals those that are known best and took less than
a second on 2,700 tasks. Chosen by name and time, never by error."""


def choose(names: Sequence[str] | None, *, quick: bool = False) -> list[Method]:
    """The methods of these names and the yardstick, or all, or a `QUICK` selection of all.

    All are all that are known: what is not installed is told as such by whoever runs it.

    >>> [method.name for method in choose(["adaptive"])]
    ['majority', 'adaptive']
    """
    if names is None:
        return [method for method in METHODS if not quick or method.name in QUICK]
    by_name = {m.name: m for m in METHODS if m.family == CROWDKIT or m.installed()}
    for name in names:
        if name not in by_name:
            near = difflib.get_close_matches(name, by_name, n=1)
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise InputError("methods", f"some of {', '.join(by_name)}", repr(name) + hint)
        if not by_name[name].installed():
            raise InputError(
                f"method {name!r}", "crowd-kit: pip install 'crowdstream[bench]'", "none"
            )
    return [method for method in METHODS if method.name in {YARDSTICK, *names}]
