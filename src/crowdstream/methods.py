"""The methods by name: which estimator each is, and which options it takes.

The command line, the server and its wire types, and every message that lists methods read this
table. It loads no estimator before one is made: ``crowdstream --help`` needs the names alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from crowdstream.errors import InputError, UsageError

if TYPE_CHECKING:
    from crowdstream.estimators import Estimator
    from crowdstream.estimators.parameters import Copying, Families

MethodName: TypeAlias = Literal["adaptive", "agreement", "centred", "majority"]
"""Names of methods; `METHODS` describes each."""


class Method(NamedTuple):
    """One method.

    Attributes
    ----------
    estimator
        Its class in `crowdstream.estimators`.
    summary
        Its description in help texts.
    options
        Options that it takes beside ``seed``, which all take.
    why_not
        For an option that it does not take, the reason, where there is something to say.
    monitored
        Whether monitors go along: for intervals, alarms and pairs.
    """

    estimator: str
    summary: str
    options: frozenset[str] = frozenset()
    why_not: Mapping[str, str] = {}
    monitored: bool = True


METHODS: dict[MethodName, Method] = {
    "adaptive": Method(
        "Adaptive", "the best choice in most cases", frozenset({"memory", "families", "copies"})
    ),
    "agreement": Method("AgreementBased", "the paper's", frozenset({"memory", "answer_rate"})),
    "centred": Method(
        "CentredAgreement",
        "counts agreement beyond what each worker's habits explain",
        frozenset({"memory"}),
    ),
    "majority": Method(
        "MajorityVote",
        "one worker, one vote",
        why_not={"memory": "which learns nothing that it could forget"},
        monitored=False,  # it judges nobody
    ),
}
"""Every method by its name, in the order of help texts."""


def find_method(name: str, where: str = "method") -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name
        One of `METHODS`.
    where
        The option or field, for the message if there is no such method.

    Examples
    --------
    >>> find_method("majority").summary
    'one worker, one vote'
    >>> find_method("mv", "--method")
    Traceback (most recent call last):
    crowdstream.errors.InputError: --method: expected adaptive, agreement, centred or majority,
        found 'mv'
    """
    for known, method in METHODS.items():
        if known == name:
            return method
    raise InputError(where, listed(METHODS), repr(name))


def check_options(
    name: str, given: Mapping[str, object], spelled: Callable[[str], str] = str
) -> Method:
    """Return a method by its name; refuse options that it does not take.

    Parameters
    ----------
    name
        One of `METHODS`.
    given
        Options with their values; None: not given.
    spelled
        Spells an option's name as the user typed it, for messages.

    Examples
    --------
    >>> check_options("adaptive", {"memory": 1000}).estimator
    'Adaptive'
    >>> check_options("majority", {"memory": 1000})
    Traceback (most recent call last):
    crowdstream.errors.UsageError: memory needs method adaptive, agreement or centred; it cannot
        be combined with majority, which learns nothing that it could forget
    """
    method = find_method(name, spelled("method"))
    for option, value in given.items():
        if value is None or option in method.options:
            continue
        taking = [other for other, each in METHODS.items() if option in each.options]
        reason = method.why_not.get(option)
        found = name if reason is None else f"{name}, {reason}"
        needed = f"{spelled(option)} needs {spelled('method')} {listed(taking)}"
        raise UsageError(f"{needed}; it cannot be combined with {found}")
    return method


def make_estimator(
    name: str,
    *,
    memory: float | None = None,
    families: Families | None = None,
    copies: Copying | None = None,
    answer_rate: float | None = None,
    seed: int = 0,
    monitored: bool = False,
    over_time: bool = True,
    spelled: Callable[[str], str] = str,
) -> Estimator:
    """Make the estimator that a method's name stands for.

    Parameters
    ----------
    name
        One of `METHODS`.
    memory, families, copies, answer_rate
        Options of some methods: `Method.options` says of which.
    seed
        Random seed for breaking ties.
    monitored
        Let monitors go along, unless the method judges nobody.
    over_time
        Let monitors ask who changed: tasks come in the order of time.
    spelled
        Spells an option's name as the user typed it, for messages.

    Examples
    --------
    >>> make_estimator("centred", memory=1000.0)
    CentredAgreement(memory=1000.0)
    """
    given = {
        "memory": memory,
        "families": families,
        "copies": copies,
        "answer_rate": answer_rate,
    }
    method = check_options(name, given, spelled)
    from crowdstream import estimators

    kind = getattr(estimators, method.estimator)
    asked = {each: given[each] for each in method.options if given[each] is not None}
    crowd: Estimator = kind(**asked, seed=seed)
    if monitored and method.monitored:
        from crowdstream.monitoring import monitor

        monitor(crowd, over_time=over_time)
    return crowd


def listed(names: Mapping[MethodName, object] | list[MethodName]) -> str:
    """List methods in a sentence.

    >>> listed(["adaptive", "agreement", "centred"])
    'adaptive, agreement or centred'
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
