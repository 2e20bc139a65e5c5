"""`LabelRules`: which labels a project takes, and as what. Knows nothing of streams or the disk.

A project holds one question and decides one class per task. What is of another question, holds
several classes or is a score is refused by name, before anything of its request is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import msgspec

from crowdstream.errors import InputError
from crowdstream.labels.choice_cells import read_list, several_choices
from crowdstream.labels.label import ClassLabel, as_text, clean_label, shorten
from crowdstream.labels.meaning.kinds import FAIL, PASS, LabelHints, are_scores, find_kind
from crowdstream.labels.scale import as_number
from crowdstream.labels.spelling import normalise
from crowdstream.serve.problems import ProblemError
from crowdstream.serve.wire import LabelIn, Settings

MOST_COMPARED = 200
"""Classes up to which a new one is looked at beside the others, to see whether it is a set of them:
0.3 ms at most. Sets of more classes than that are not chosen from a list."""

SETS = "post yes or no to a project per class, or decide files with crowdstream run --choices"
"""How to decide tasks that may have several classes."""

Where = Callable[[int], str]
"""Where in what was sent the label of a place is."""


class LabelRules:
    """Which labels a project takes.

    Parameters
    ----------
    settings
        The project's.
    classes
        Gives the classes that its crowd knows.

    Examples
    --------
    >>> rules = LabelRules(Settings(question="tone"), list)
    >>> rules.one(LabelIn("t1", "ann", "rude", question="Tone "))
    'rude'
    >>> rules.one(LabelIn("t1", "ann", "yes", question="toxic"))
    Traceback (most recent call last):
    crowdstream.serve.problems.ProblemError: $.question: expected 'tone', which this project \
holds, found 'toxic' (one project per question)
    """

    def __init__(self, settings: Settings, classes: Callable[[], Iterable[ClassLabel]]) -> None:
        check_settings(settings)
        self.settings = settings
        self._allowed = _allowed(settings)
        self._known = classes
        self._met: set[ClassLabel] = set()
        """Classes that need not be looked at again."""
        self._recode: Callable[[ClassLabel], ClassLabel] | None = None
        if settings.threshold is not None:
            self._recode = find_kind([], 0, LabelHints(threshold=settings.threshold)).recode

    def many(self, labels: list[LabelIn], where: Where) -> list[LabelIn]:
        """Return the labels of a request as they are to be counted; refuse all if one is wrong."""
        if [one.question for one in labels].count(None) != len(labels):
            for place, one in enumerate(labels):
                self._check_question(one.question, where(place))
        said = [one.label for one in labels]
        if self._recode is not None or float in set(map(type, said)):
            said = [self._class(label, where(place)) for place, label in enumerate(said)]
            labels = [
                msgspec.structs.replace(one, label=label)
                for one, label in zip(labels, said, strict=True)
            ]
        self._check_classes(said, where)  # type: ignore[arg-type]
        return labels

    def one(self, given: LabelIn) -> ClassLabel | None:
        """Return the label of a request of a single one as it is to be counted."""
        return self.many([given], lambda _: "$")[0].label  # type: ignore[return-value]

    def _check_question(self, question: str | None, where: str) -> None:
        mine = self.settings.question
        if question is None or (mine is not None and normalise(question) == normalise(mine)):
            return
        found = f"{shorten(question)} (one project per question)"
        if mine is None:
            setting = msgspec.json.encode({"question": question[:100]}).decode()
            expected = f"no question, as this project has none (make one with {setting})"
            _refuse(f"{where}.question", expected, found)
        _refuse(f"{where}.question", f"{shorten(mine)}, which this project holds", found)

    def _class(self, label: ClassLabel | float | None, where: str) -> ClassLabel | None:
        """Return the class that a label means, which may be a number of any kind."""
        if label is None:
            return None
        if self._recode is not None:
            try:
                return self._recode(label)  # type: ignore[arg-type]
            except InputError:
                expected = f"a score (from {self.settings.threshold:g} on it is {PASS})"
                _refuse(f"{where}.label", f"{expected}, {PASS} or {FAIL}", shorten(label))
        if not isinstance(label, float) or label.is_integer():
            return clean_label(label, f"{where}.label")
        if not self.settings.as_classes:
            _refuse_score(label, f"{where}.label")
        return str(as_text(label))

    def _check_classes(self, said: Sequence[ClassLabel | None], where: Where) -> None:
        """Refuse what is not one of the project's classes, or cannot be a class."""
        if self._allowed is not None:
            for place, label in enumerate(said):
                if label is not None and (type(label), label) not in self._allowed:
                    shown = msgspec.json.encode(label).decode()
                    _refuse(f"{where(place)}.label", "one of the project's classes", shown)
            return
        if self.settings.as_classes:
            return
        new = set(said) - self._met
        new.discard(None)
        if not new:
            return
        self._met.update(self._known())
        found = [label for label in dict.fromkeys(said) if label in new - self._met]
        if wrong := self._misfit(found):  # type: ignore[arg-type]
            label, refuse = wrong
            refuse(label, f"{where(said.index(label))}.label")
        self._met.update(found)  # type: ignore[arg-type]

    def _misfit(
        self, new: list[ClassLabel]
    ) -> tuple[ClassLabel, Callable[[ClassLabel, str], NoReturn]] | None:
        """Return the new class that makes classes look like something else, and what refuses it.

        What they looked like before is not asked: it was taken, and settings may change.
        """
        old = list(self._met)
        numbers = [one for one in new if type(one) is not bool and as_number(one) is not None]
        if numbers and are_scores([*old, *new]) and not are_scores(old):
            broken = (one for one in numbers if not float(one).is_integer())
            return next(broken, numbers[-1]), _refuse_score
        before, texts = ([one for one in each if isinstance(one, str)] for each in (old, new))
        if len(before) + len(texts) > MOST_COMPARED:
            sets = [one for one in texts if len(read_list(one) or ()) > 1]
        else:
            known = several_choices(before)
            sets = [one for one in several_choices([*before, *texts]) if one not in known]
        if sets:
            named = next((one for one in texts if one in sets), texts[-1])
            return named, lambda _, where: _refuse_set(sets[0], where)
        return None


def check_settings(settings: Settings) -> None:
    """Refuse settings of labels that contradict one another."""
    if settings.threshold is None:
        return
    if settings.as_classes:
        raise InputError("threshold", 'no "as_classes"', "both")
    if settings.classes is not None and set(settings.classes) != {PASS, FAIL}:
        raise InputError("threshold", f"no classes but {PASS} and {FAIL}", "others")


def _allowed(settings: Settings) -> set[tuple[type, ClassLabel]] | None:
    """Return the classes that are allowed; 1, "1" and true are three of them."""
    if settings.classes is None:
        return None
    return {(type(one), one) for one in settings.classes}


def _refuse(where: str, expected: str, found: str) -> NoReturn:
    detail = f"{where}: expected {expected}, found {found}"
    raise ProblemError(422, detail, path=where, expected=expected, got=found)


def _refuse_score(label: ClassLabel | float, where: str) -> NoReturn:
    ways = 'post pass or fail, or make the project with "threshold": 0.5 or "as_classes": true'
    _refuse(where, f"a class ({ways})", f"a score, {shorten(label)}")


def _refuse_set(label: ClassLabel, where: str) -> NoReturn:
    ways = f'{SETS}; "as_classes": true takes it as it is'
    _refuse(where, f"one class ({ways})", f"several in one, {shorten(label)}")
