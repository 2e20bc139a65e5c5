"""`agreement`: how far labels agree, by the coefficients that papers report.

Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 and AC2, Cohen's kappa of pairs, raw agreement.
Decides nothing. Knows neither terminals nor files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack, cast

import msgspec
import numpy as np

from crowdstream.deciding import Prepared
from crowdstream.defaults import LEVEL, LEVEL_RANGE
from crowdstream.errors import InputError
from crowdstream.estimators.estimator import ONE_QUESTION, Estimator, NativeTable
from crowdstream.labels import ClassLabel, Table, Vocabulary, code_table, in_kind, kind_of
from crowdstream.labels.batch import LabelBatch
from crowdstream.labels.coding import interpret
from crowdstream.labels.folding import MOST_CLASSES
from crowdstream.labels.meaning.interpreting import QuestionLabels
from crowdstream.labels.meaning.kinds import LabelKind
from crowdstream.labels.meaning.options import TableMeaning
from crowdstream.labels.scale import scale_of
from crowdstream.labels.tables import Kind, value_series
from crowdstream.metrics.kappa import cohen_kappas
from crowdstream.monitoring.agreement import Agreement, add_up, coefficients_of
from crowdstream.monitoring.coefficients import (
    SCALES,
    WEIGHTS,
    Coefficient,
    Coefficients,
    TaskIntervals,
    weights_of,
)
from crowdstream.monitoring.estimator_view import observer_of
from crowdstream.plain_text import counted
from crowdstream.questions import Questions
from crowdstream.statements.agreement import ORDER, agreement_notes, coefficient_row
from crowdstream.sums.coincidence_loops import add_pair_tables
from crowdstream.validation import check_number, one_of

if TYPE_CHECKING:
    import polars as pl

CELLS = 2**24
"""Cells of all tables of pairs: 64 MB. Of up to 22 classes 256 workers are compared."""

WORKERS = 256
"""Workers, the most active, whose pairs are compared."""

LEAST = 20
"""Tasks that two must share to be listed: a kappa of fewer is uncertain by ± 0.4 and more."""


class Learning(Protocol):
    """What has a crowd that learns, such as `Stream`."""

    @property
    def crowd(self) -> Estimator:
        """The crowd."""


class AgreementReport(msgspec.Struct, frozen=True):
    """Agreement of the labels of one question.

    Attributes
    ----------
    coefficients
        Krippendorff's alpha, Fleiss' kappa, Gwet's AC1 or AC2 and raw agreement, with intervals.
    pairs
        One row per pair of workers, the least alike first: ``one``, ``other``, the ``tasks`` they
        share, the share on which they agree, Cohen's ``kappa`` and its interval ``low`` to
        ``high`` (null where one of the two gave one class only). ``None`` of an estimator, which
        does not keep what pairs said.
    compared
        Workers, the most active, among whom pairs were sought.
    workers, classes
        How many there are.
    notes
        What to keep in mind of these numbers.

    Examples
    --------
    >>> import crowdstream as cs
    >>> found = cs.agreement(cs.simulate(6, 500, p=0.2, seed=1).labels())
    >>> round(found.alpha.value, 2), round(found.raw.value, 2)
    (0.38, 0.69)
    >>> found.table["coefficient"].to_list()
    ["Krippendorff's alpha", "Fleiss' kappa", "Gwet's AC1", 'raw agreement']
    """

    coefficients: Coefficients
    pairs: NativeTable | None
    compared: int
    workers: int
    classes: int
    notes: list[str]

    @property
    def alpha(self) -> Coefficient:
        """Krippendorff's alpha."""
        return self.coefficients.alpha

    @property
    def fleiss(self) -> Coefficient:
        """Fleiss' kappa."""
        return self.coefficients.fleiss

    @property
    def gwet(self) -> Coefficient:
        """Gwet's AC1, or AC2 on a scale."""
        return self.coefficients.gwet

    @property
    def raw(self) -> Coefficient:
        """The share of pairs of labels that are the same."""
        return self.coefficients.raw

    @property
    def table(self) -> pl.DataFrame:
        """One row per coefficient: ``coefficient``, ``value``, ``low``, ``high``, ``purpose``."""
        import polars as pl

        rows = [coefficient_row(name, self.coefficients) for name in ORDER]
        kinds = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64}
        return pl.DataFrame(rows, schema_overrides=kinds)

    def __repr__(self) -> str:
        c = self.coefficients
        size = f"{counted(c.labels, 'label')} on {counted(c.tasks, 'task')} with two or more"
        lines = [f"{size}, {c.scale} scale"]
        for row in self.table.iter_rows(named=True):
            lines.append(f"{row['coefficient']:<22}{_shown(row['value'], row['low'], row['high'])}")
        return "\n".join([*lines, *self.notes])


def _shown(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return "not defined"
    return f"{value:.3f}" + ("" if low is None or high is None else f" ({low:.3f} to {high:.3f})")


def agreement(
    data: Table | Estimator | Learning,
    *,
    scale: str | None = None,
    level: float = LEVEL,
    least: int = LEAST,
    **meaning: Unpack[TableMeaning],
) -> AgreementReport:
    """Return how far labels agree, by the coefficients that papers report.

    Values are those of the packages ``krippendorff``, ``irrCAC``, ``statsmodels`` and
    ``scikit-learn`` on the same labels; workers need not label every task. Intervals are by the
    delta method over tasks: how far the value would move with other tasks of the same kind,
    labelled by the same workers.

    Parameters
    ----------
    data
        A table or rows of labels, as for `Estimator.fit`; or an estimator or stream with monitors
        (see `monitor`), which knows the same of all it has learnt, but no pairs.
    scale
        "nominal": labels are the same or not. "ordinal": their order counts; kappas and Gwet's
        coefficient have linear weights. "interval": labels are numbers and their distance counts;
        quadratic weights. Without it: ordinal where the labels were said to be on a scale
        (``ordinal=``, ``order=``, ``bins=``), else nominal.
    level
        Confidence level of the intervals.
    least
        Fewest tasks that a pair of workers must share to be listed.
    **meaning
        What the table means, where it does not show it: as for `Estimator.fit_predict`.

    Returns
    -------
    The coefficients, and a table of pairs (see `AgreementReport`).

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [("t1", "ann", "cat"), ("t1", "bob", "cat"), ("t2", "ann", "dog"),
    ...         ("t2", "bob", "cat"), ("t3", "ann", "dog"), ("t3", "bob", "dog")]
    >>> found = cs.agreement(rows, least=1)
    >>> round(found.alpha.value, 3)
    0.444
    >>> found.pairs.select("one", "other", "tasks").row(0)
    ('ann', 'bob', 3)
    """
    _check(scale, level, least)
    crowd = data if isinstance(data, Estimator) else getattr(data, "crowd", None)
    if isinstance(crowd, Estimator):
        return _of_crowd(crowd, scale, level, meaning)
    table = cast("Table", data)
    question = interpret(table, **meaning).only("table", ONE_QUESTION)
    found = question_agreement(question, scale=scale, level=level, least=least)
    return _in_kind(found, kind_of(table))


def agreement_by_question(
    data: Table | Questions,
    *,
    scale: str | None = None,
    level: float = LEVEL,
    least: int = LEAST,
    **meaning: Unpack[TableMeaning],
) -> dict[str, AgreementReport]:
    """Return what `agreement` does of every question of a table.

    Parameters
    ----------
    data
        A table of several questions, as for `fit_questions`; or what that returns, of crowds with
        monitors.
    scale, level, least, **meaning
        As for `agreement`.

    Examples
    --------
    >>> import crowdstream as cs
    >>> rows = [
    ...     {"task": t, "worker": w, "question": q, "label": (t + (w == "cy") * (q == "tone")) % 2}
    ...     for t in range(20) for w in ("ann", "bob", "cy") for q in ("tone", "toxic")
    ... ]
    >>> found = cs.agreement_by_question(rows)
    >>> {name: one.raw.value for name, one in found.items()}["toxic"]
    1.0
    """
    _check(scale, level, least)
    if isinstance(data, Questions):
        return {name: _of_crowd(crowd, scale, level, meaning) for name, crowd in data.items()}
    kind = kind_of(data)
    made = {}
    for question in interpret(data, **meaning).questions:
        found = question_agreement(question, scale=scale, level=level, least=least)
        made[question.name] = _in_kind(found, kind)
    return made


def _in_kind(found: AgreementReport, kind: Kind) -> AgreementReport:
    """The table of pairs in the kind of table that came in."""
    pairs: pl.DataFrame = found.pairs  # type: ignore[assignment]  # of labels there always is one
    return msgspec.structs.replace(found, pairs=in_kind(pairs, kind))


def _check(scale: str | None, level: float, least: int) -> None:
    if scale is not None:
        one_of(*SCALES)("scale", scale)
    check_number("level", level, *LEVEL_RANGE)
    check_number("least", least, 1, 10**12, whole=True)


def _of_crowd(
    crowd: Estimator, scale: str | None, level: float, meaning: TableMeaning
) -> AgreementReport:
    """Read what an estimator's monitor knows."""
    order = meaning.get("order")
    if meaning.keys() - {"order"}:
        named = ", ".join(sorted(meaning.keys() - {"order"}))
        raise InputError("agreement", "of an estimator, no more than scale and order", named)
    sums, classes = observer_of(crowd, Agreement).sums, crowd.classes_
    scale = scale or ("nominal" if order is None else "ordinal")
    places = _places(LabelKind(), classes, scale, order)
    found = coefficients_of(sums, classes, places=places, scale=scale, level=level)
    return _report(found, None, 0, len(crowd.workers_), classes, scale, level)


def question_agreement(
    question: QuestionLabels,
    *,
    scale: str | None = None,
    level: float = LEVEL,
    least: int = LEAST,
    spelled: str = "{}=",
) -> AgreementReport:
    """Return how far the labels of one question agree; arguments as for `agreement`.

    ``spelled``: how messages write the name of an argument.
    """
    prepared, kind = Prepared.of(question), question.kind
    scale = scale or ("ordinal" if kind.name == "scale" else "nominal")
    if kind.name == "choices" and scale != "nominal":
        where = spelled.format("scale")
        raise InputError(where, "nominal, since labels are sets of choices", scale)
    workers, classes = Vocabulary(), Vocabulary()
    batch, _ = code_table(prepared.table, workers, classes)
    names = classes.to_list()
    places = _places(kind, names, scale, None, spelled)
    found = None
    if len(names) <= MOST_CLASSES:
        sums = add_up(batch, len(names))
        found = coefficients_of(sums, names, places=places, scale=scale, level=level)
    pairs, compared = _pairs(batch, workers, names, places, scale, level, least)
    report = _report(found, pairs, compared, len(workers), names, scale, level)
    if kind.name == "choices":
        note = "labels are sets: what is compared is yes or no to each choice of each task"
        report = msgspec.structs.replace(report, notes=[note, *report.notes])
    return report


def _places(
    kind: LabelKind,
    classes: Sequence[ClassLabel],
    scale: str,
    order: Sequence[ClassLabel] | None,
    spelled: str = "{}=",
) -> dict[str, float] | None:
    """Return the places of classes on a scale."""
    if scale == "nominal":
        return None
    if kind.places and order is None:
        return kind.places
    try:
        return scale_of(classes, order)
    except InputError as error:
        if order is not None:
            raise
        order_of = spelled.format("order")
        expected = f"labels that are numbers, or {order_of} with all of them"
        raise InputError(f"{spelled.format('scale')} {scale}", expected, error.found) from None


def _report(
    found: Coefficients | None,
    pairs: pl.DataFrame | None,
    compared: int,
    workers: int,
    classes: Sequence[ClassLabel],
    scale: str,
    level: float,
) -> AgreementReport:
    notes = []
    if found is None:
        none = Coefficient(None)
        found = Coefficients(none, none, none, none, 0, 0, 0.0, scale, level)
        notes.append(
            f"{len(classes):,} classes: agreement is counted for up to {MOST_CLASSES}"
            if len(classes) > MOST_CLASSES
            else "no task has two labels: nothing can be said about agreement"
        )
    notes += agreement_notes(found)
    return AgreementReport(found, pairs, compared, workers, len(classes), notes)


def _pairs(
    batch: LabelBatch,
    workers: Vocabulary,
    classes: Sequence[ClassLabel],
    places: Mapping[str, float] | None,
    scale: str,
    level: float,
    least: int,
) -> tuple[pl.DataFrame, int]:
    """Cohen's kappa of the most active workers' pairs, and how many workers these are."""
    import polars as pl

    k = max(len(classes), 1)
    most = min(WORKERS, int((2 * CELLS) ** 0.5 / k), len(workers))
    answers = np.bincount(batch.workers, minlength=len(workers))
    who = np.sort(np.argsort(-answers, kind="stable")[: max(most, 0)])
    slots = np.full(max(len(workers), 1), -1, np.int32)
    slots[who] = np.arange(who.size, dtype=np.int32)
    number = who.size * (who.size - 1) // 2
    tables = np.zeros((number, k, k), np.int32)
    if number:
        held = np.empty(int(batch.sizes.max(initial=1)), np.int64)
        add_pair_tables(batch.coded, slots, tables, held)
    shared = tables.sum(axis=(1, 2))
    listed = np.flatnonzero(shared >= least)
    others, ones = np.tril_indices(who.size, -1)  # as pairs are numbered
    weights = weights_of("identity", np.zeros(k))
    if places is not None:
        at = [places[str(label)] for label in classes]
        if scale == "ordinal":
            rank = {place: step for step, place in enumerate(sorted(set(places.values())))}
            at = [float(rank[place]) for place in at]
            ends = 0.0, float(len(rank) - 1)
        else:
            ends = min(places.values()), max(places.values())
        # With both ends of the scale, whether or not somebody named them.
        weights = weights_of(WEIGHTS[scale], np.array([*at, *ends]))[:k, :k]
    found = cohen_kappas(tables[listed], weights)
    limits = [
        Coefficient(None)
        if np.isnan(kappa)
        else TaskIntervals(int(tasks), level).beyond(
            float(kappa), float(error) ** 2, float(expected)
        )
        for kappa, error, _, expected, tasks in zip(*found, shared[listed], strict=True)
    ]
    names = workers.to_list()
    table = pl.DataFrame(
        {
            "one": value_series("one", [names[who[i]] for i in ones[listed]]),
            "other": value_series("other", [names[who[i]] for i in others[listed]]),
            "tasks": shared[listed].astype(np.int64),
            "agreement": found.agreed,
            "kappa": pl.Series([one.value for one in limits], dtype=pl.Float64),
            "low": pl.Series([one.low for one in limits], dtype=pl.Float64),
            "high": pl.Series([one.high for one in limits], dtype=pl.Float64),
        }
    )
    return table.sort("kappa", "tasks", nulls_last=True, maintain_order=True), int(who.size)
