"""Checks of arguments that every part of the package shares. Knows nothing of labels."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping
from functools import cache
from typing import ClassVar, TypeAlias

from crowdstream.errors import InputError

Check: TypeAlias = Callable[[str, object], None]
"""Refuses a value that an argument of this name must not have."""


def check_number(
    name: str,
    value: object,
    low: float,
    high: float,
    *,
    open_low: bool = False,
    whole: bool = False,
) -> None:
    """Refuse what is not a number between ``low`` and ``high``.

    >>> check_number("settle", 95, 0, 1)
    Traceback (most recent call last):
    crowdstream.errors.InputError: settle: expected a number from 0 to 1, found 95
    """
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, bool)
    if not (good and (low < value if open_low else low <= value) and value <= high):  # type: ignore[operator]
        wanted = "a whole number" if whole else "a number"
        limits = (
            f"above {low:g}, at most {_shown(high)}"
            if open_low
            else f"from {low:g} to {_shown(high)}"
        )
        raise InputError(name, f"{wanted} {limits}", repr(value))


def _shown(limit: float) -> str:
    """A limit as people write it.

    >>> _shown(2**31), _shown(0.5)
    ('2,147,483,648', '0.5')
    """
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def number(
    low: float, high: float, *, open_low: bool = False, whole: bool = False, optional: bool = False
) -> Check:
    """A check for numbers in a range; ``optional`` allows ``None`` too.

    >>> number(0, 1)("clip", 0.5)
    """

    def check(name: str, value: object) -> None:
        if not (optional and value is None):
            check_number(name, value, low, high, open_low=open_low, whole=whole)

    return check


def one_of(*allowed: str) -> Check:
    """A check for one of several words.

    >>> one_of("coin", "lowest")("ties", "random")
    Traceback (most recent call last):
    crowdstream.errors.InputError: ties: expected 'coin' or 'lowest', found 'random'
    """

    def check(name: str, value: object) -> None:
        if value not in allowed:
            raise InputError(name, " or ".join(map(repr, allowed)), repr(value))

    return check


SEED: Check = number(0, 2**64 - 1, whole=True)
"""Check of a random seed."""


@cache  # a signature takes 0.2 ms to find out, and every state that is saved asks for it
def _defaults_of(constructor: Callable[..., None]) -> dict[str, object]:
    found = list(inspect.signature(constructor).parameters.values())[1:]
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {each.name: each.default for each in found if each.kind in kinds}


class Parameters:
    """A class whose constructor stores its arguments as given, and checks them by their names.

    A subclass is a dataclass (``@dataclass(eq=False, repr=False)``); its fields are the
    parameters. ``checks`` holds for each of them what it may be.
    """

    checks: ClassVar[Mapping[str, Check]] = {}

    def __post_init__(self) -> None:
        for kind in type(self).__mro__:
            for name, check in vars(kind).get("checks", {}).items():
                if name in self.get_params():
                    check(name, getattr(self, name))

    @classmethod
    def _defaults(cls) -> dict[str, object]:
        """The parameters and their defaults."""
        return _defaults_of(cls.__init__)

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The constructor's arguments, as given.

        Parameters
        ----------
        deep
            What scikit-learn asks for, to copy an estimator; nothing is nested here.

        Examples
        --------
        >>> import crowdstream as cs
        >>> cs.MajorityVote(seed=3).get_params()
        {'ties': 'coin', 'seed': 3}
        """
        return {name: getattr(self, name) for name in self._defaults()}

    def __repr__(self) -> str:
        usual, values = self._defaults(), self.get_params()
        shown = [f"{name}={value!r}" for name, value in values.items() if value != usual[name]]
        return f"{type(self).__name__}({', '.join(shown)})"
