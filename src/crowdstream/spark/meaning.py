"""What a DataFrame means: its columns and different labels looked at → the labels of each question.

One pass counts the different labels of every question; what they mean is told by the rules that
files and tables have (`CountedInterpreter`), and the labels are recoded on the cluster. Knows
nothing of estimators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from crowdstream.errors import InputError
from crowdstream.labels.columns import ColumnNames, Roles
from crowdstream.labels.label import FLOAT_MAX, ClassLabel
from crowdstream.labels.matching import NameIndex
from crowdstream.labels.meaning.counted import CountedInterpreter, CountedQuestion
from crowdstream.labels.meaning.interpreting import OWN, ReadAs, _named
from crowdstream.labels.meaning.kinds import LabelHints
from crowdstream.labels.meaning.options import HOW, TableReading
from crowdstream.labels.meaning.repeats import telling_columns
from crowdstream.labels.meaning.shaping import LOOKED_AT, Shaper
from crowdstream.plain_text import counted
from crowdstream.spark.columns import (
    BLANK,
    NESTED,
    clean_column,
    label_column,
    quoted,
    recode,
    time_column,
    trimmed,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST = 1_000_000
"""Different labels that are looked at, all questions together: an estimator of so many classes
would need terabytes."""

CONTRADICTING = 2_000
"""Pairs of a worker and a task with several labels that are looked at for what tells them apart."""

ELSEWHERE = "scales and choices are decided without Spark, by crowdstream run"
"""Where labels go that are no classes."""


class Wording(NamedTuple):
    """How messages speak of a table.

    ``where``: what they call it. ``how``: how the user says something of it, with ``{}`` for what.
    ``all_questions``: what decides several questions. ``clean``: whether cells are cleaned, as
    those of files are.
    """

    where: str = "table"
    how: str = HOW
    all_questions: str = "spark.fit_questions decides all"
    clean: bool = False


@dataclass(frozen=True)
class SparkQuestion:
    """The labels of one question on a cluster: task, worker, label, and at where it is known.

    ``picked``: the name by which the user chose it. ``policy``: which of several labels of a
    worker on a task counts. ``origin`` is asked when labels contradict one another. ``nameless``:
    rows that were left out for want of a task, and of a worker.
    """

    question: CountedQuestion
    table: DataFrame
    clean: bool
    as_classes: bool = False
    picked: str = ""
    policy: str | None = None
    origin: SparkOrigin | None = None
    nameless: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Its name; empty where there is one question only."""
        return self.question.name

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.question.rows

    def true_class(self, label: ClassLabel) -> ClassLabel | None:
        """What a correct label counts as; None if it is none of the classes of files."""
        made = self.question.kind.recode
        if made is not None:
            return made(label)
        return NameIndex(self.question.shown).find(label) if self.clean else label


@dataclass(frozen=True)
class SparkMeaning:
    """What a DataFrame means: the labels of every question, and what is to be said.

    ``null_task``, ``null_worker``: rows that were left out.
    """

    questions: list[SparkQuestion]
    read_as: ReadAs
    notes: list[str] = field(default_factory=list)
    null_task: int = 0
    null_worker: int = 0

    def only(self, wording: Wording) -> SparkQuestion:
        """The one question; several are refused by name, with the words to type."""
        if len(self.questions) > 1:
            names = _named([(each.name, each.rows) for each in self.questions])
            question = wording.how.format("question")
            one = f"{question}NAME" if question.endswith("=") else f"{question} NAME"
            expected = f"one question ({one} reads one, {wording.all_questions})"
            raise InputError(wording.where, expected, f"{len(self.questions)}: {names}")
        return self.questions[0]


def interpret(
    df: DataFrame,
    reading: TableReading,
    at: str | None = None,
    wording: Wording = Wording(),  # noqa: B008 a tuple
) -> SparkMeaning:
    """Tell what a DataFrame means; what cannot be decided on a cluster is refused.

    Parameters
    ----------
    df
        A table of labels, in any shape that has a row per label or per task.
    reading
        What the user says of it.
    at
        A column of times or numbers: the latest label of a worker on a task counts.
    wording
        How messages call things, and whether cells are cleaned.
    """
    from pyspark.sql import functions as F

    _refuse_hints(reading.hints, wording)
    shaper = Shaper(reading.names, wording.where, wording.how)
    roles = _roles(df, shaper)
    policy = _policy(reading.hints, roles, at, wording)
    notes: list[str] = []
    if _is_of_the_task(df, roles, reading.names):
        notes.append(f"column {roles.question!r} has a value of its own per task: not a question")
        roles = roles._replace(question=None)
    table = _long(df, roles, at, wording, places=policy is not None)
    survey = Survey.of(table, len(roles.labels), clean=wording.clean)
    survey.refuse_nameless(reading.on_error, wording)
    written = survey.written()
    counts = survey.counts(written)
    interpreter = CountedInterpreter(
        reading.names, reading.hints, where=wording.where, how=wording.how, clean=wording.clean
    )
    try:
        found = interpreter.counted(counts, roles, shaper.left_out)
    except InputError as error:
        if "bins" not in error.expected and "choices" not in error.expected:
            raise
        raise InputError(error.where, error.expected, f"{error.found}; {ELSEWHERE}") from None
    table = table.where("task is not null and worker is not null")
    if survey.padded and table.where(F.col("worker").rlike(f"^{BLANK}*$")).isEmpty():
        table = table.withColumn("worker", trimmed(F.col("worker")))
    picked = reading.names.question
    chosen = "" if picked is None or picked == roles.question else picked
    origin = None
    if policy is None and at is None:
        origin = SparkOrigin(df, roles, wording)
    questions = [
        SparkQuestion(
            each,
            _recoded(table, each, written, wording),
            wording.clean,
            reading.hints.as_classes,
            chosen,
            policy,
            origin,
            (survey.null_task, survey.null_worker) if len(found.questions) == 1 else (0, 0),
        )
        for each in found.questions
    ]
    return SparkMeaning(
        questions, found.read_as, [*notes, *found.notes], survey.null_task, survey.null_worker
    )


def _refuse_hints(hints: LabelHints, wording: Wording) -> None:
    """Refuse what is decided on one machine only."""
    given = {
        "choices": hints.choices,
        "ordinal": hints.ordinal,
        "order": hints.order is not None,
        "bins": hints.bins is not None,
    }
    for name, there in given.items():
        if there:
            where = wording.how.format(name).removesuffix("=")
            raise InputError(where, "classes", f"a cluster's table ({ELSEWHERE})")


# Columns ----------------------------------------------------------------------------------------


def _roles(df: DataFrame, shaper: Shaper) -> Roles:
    """The columns by what they hold; where names leave it open, the first rows show it."""
    roles = shaper.look_at(df.columns)
    if roles.labels:
        return roles
    flat = [name for name, kind in df.dtypes if not kind.startswith(NESTED)]
    first = df.select([quoted(name) for name in flat]).limit(LOOKED_AT)
    shaper.shape(pl.DataFrame(first.toArrow()))
    assert shaper.roles is not None
    return shaper.roles


def _policy(
    hints: LabelHints, roles: Roles, at: str | None, wording: Wording
) -> str | None:  # fmt: skip
    """Which of several labels of a worker on a task counts; None: the last, as a correction."""
    policy = hints.repeats or (None if roles.repeat is None else "majority")
    if policy in ("first", "last") and at is None:
        where = wording.how.format("repeats").removesuffix("=")
        column = wording.how.format("at")
        raise InputError(
            where,
            f"the times by which labels are first or last ({column}"
            f"{'' if column.endswith('=') else ' '}COLUMN)",
            "none: a cluster's table has no order",
        )
    return policy


def _is_of_the_task(df: DataFrame, roles: Roles, names: ColumnNames) -> bool:
    """Whether the question is a text of the task, each its own; as `Interpreter` has it."""
    from pyspark.sql import functions as F

    if roles.question is None or names.question is not None:
        return False
    task, question = F.col(quoted(roles.task)), F.col(quoted(roles.question))
    asked = F.btrim(F.coalesce(question.cast("string"), F.lit("")))
    about = df.agg(F.approx_count_distinct(task), F.approx_count_distinct(asked)).collect()[0]
    if about[1] <= max(0.8 * OWN * about[0], 1):  # the counts may be off by some hundredths
        return False
    pairs = df.where(task.isNotNull()).select(task.alias("task"), asked.alias("asked")).distinct()
    tasks, different, both = pairs.agg(
        F.count_distinct("task"), F.count_distinct("asked"), F.count("*")
    ).collect()[0]
    return bool(both == tasks and different > max(OWN * tasks, 1))


def _long(
    df: DataFrame, roles: Roles, at: str | None, wording: Wording, *, places: bool
) -> DataFrame:
    """One row per label: task, worker, label, place, and question and at where there are any.

    ``place``: which of two labels came first, as far as a cluster's table has an order. With
    ``places`` it stands for a time where there is none.
    """
    from pyspark.sql import functions as F

    kinds = dict(df.dtypes)

    def column(name: str, role: str) -> Column:
        found = clean_column(F.col(quoted(name)), name, kinds[name], role)
        if not wording.clean or dict(df.select(found).dtypes).popitem()[1] != "string":
            return found
        # Blanks around tasks mean nothing; those around workers are looked at first.
        found = F.when(found != "", found)
        return trimmed(found, spaces=True) if role == "task" else found

    keys = [
        column(roles.task, "task").alias("task"),
        F.monotonically_increasing_id().alias("place"),
    ]
    if roles.worker is not None:
        keys.append(column(roles.worker, "worker").alias("worker"))
    question = None
    if roles.question is not None:
        question = F.col(quoted(roles.question)).cast("string")
        question = F.btrim(F.coalesce(question, F.lit("")))
    if at is not None:
        if at not in df.columns:
            raise InputError(wording.how.format("at").removesuffix("="), "a column", repr(at))
        keys.append(time_column(F.col(quoted(at)), at, kinds[at]).alias("at"))
    elif places:
        keys.append(F.monotonically_increasing_id().alias("at"))
    labels = [label_column(F.col(quoted(name)), name, kinds[name]) for name in roles.labels]
    if len(labels) == 1 and not roles.wide:
        more = [] if question is None else [question.alias("question")]
        return df.select(*keys, labels[0].alias("label"), *more)
    if len({kind for _, kind in df.select(*labels).dtypes}) > 1:
        labels = [label.cast("string") for label in labels]
    cells = [
        F.struct(F.lit(name).alias("name"), label.alias("label"))
        for name, label in zip(roles.labels, labels, strict=True)
    ]
    if question is not None and not roles.wide:
        keys.append(question.alias("asked"))
    long = df.select(*keys, F.explode(F.array(*cells)).alias("cell"))
    kept = [name for name in long.columns if name not in ("cell", "asked")]
    name = F.col("cell.name")
    if roles.wide:
        return long.select(*kept, name.alias("worker"), F.col("cell.label").alias("label"))
    if question is not None:
        name = F.concat(F.col("asked"), F.lit(": "), name)
    return long.select(*kept, F.col("cell.label").alias("label"), name.alias("question"))


# Labels -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survey:
    """What a pass over all rows has found: the different labels by question, and lost rows.

    ``padded``: rows whose worker has blanks around it.
    """

    table: pl.DataFrame
    null_task: int
    null_worker: int
    padded: int

    @staticmethod
    def of(table: DataFrame, columns: int, *, clean: bool) -> Survey:
        """Count the labels of a table.

        ``columns``: in how many of its rows a row of the input stands. ``clean``: whether blanks
        around workers are looked for.
        """
        from pyspark.sql import functions as F

        kinds = dict(table.dtypes)
        worker, padded = F.col("worker"), F.lit(False)
        if clean and kinds["worker"] == "string":
            padded = worker.rlike(f"^{BLANK}|{BLANK}$")
        named = F.col("task").isNotNull() & worker.isNotNull()
        keys = [name for name in ("question", "label") if name in table.columns]
        groups = table.groupBy(*keys).agg(
            F.count_if(named).alias("count"),
            F.count_if(F.col("task").isNull()).alias("null_task"),
            F.count_if(F.col("task").isNotNull() & worker.isNull()).alias("null_worker"),
            F.count_if(padded).alias("padded"),
            F.min("place").alias("first"),
        )
        found = pl.DataFrame(groups.limit(MOST + 1).toArrow())
        if found.height > MOST:
            text = f"free text: more than {MOST:,} different ones"
            raise InputError("labels", "classes", text)
        lost = found.select(pl.col("null_task", "null_worker").sum() // columns).row(0)
        rows = found.filter(pl.col("count") > 0).sort("first").select(*keys, "count")
        return Survey(rows, int(lost[0]), int(lost[1]), int(found["padded"].sum()))

    def refuse_nameless(self, on_error: str, wording: Wording) -> None:
        """Refuse rows without a task or a worker, unless they are to be left out."""
        number = self.null_task + self.null_worker
        if not number or on_error == "skip":
            return
        python = wording.how.endswith("=")
        skip = "on_error='skip'" if python else "--on-error skip"
        raise InputError(
            wording.where,
            f"a task and a worker in every row ({skip} leaves out)",
            f"{self.null_task:,} without a task, {self.null_worker:,} without a worker, of "
            f"{counted(number + int(self.table['count'].sum()), 'row')}",
        )

    def written(self) -> dict[Any, ClassLabel] | None:
        """Numbers → labels as they would be written; None where labels are no fractions."""
        labels = self.table["label"]
        if not labels.dtype.is_float():
            return None
        values: list[float] = labels.drop_nulls().unique().to_list()
        if all(value == int(value) and abs(value) <= FLOAT_MAX for value in values):
            return {value: int(value) for value in values}
        return {value: written_number(value) for value in values}

    def counts(self, written: Mapping[Any, ClassLabel] | None) -> pl.DataFrame:
        """Label, count, and question where there is any, in the order in which they came."""
        if written is None:
            return self.table
        kind = pl.Int64 if all(type(name) is int for name in written.values()) else pl.String
        label = pl.col("label").replace_strict(dict(written), return_dtype=kind, default=None)
        return self.table.with_columns(label)


def written_number(value: float) -> str:
    """A number as text, the whole without a point."""
    return str(int(value)) if value == int(value) else repr(value)


def _recoded(
    table: DataFrame,
    question: CountedQuestion,
    written: Mapping[Any, ClassLabel] | None,
    wording: Wording,
) -> DataFrame:
    """The rows of one question, their labels as they count."""
    from pyspark.sql import functions as F

    if question.spellings:
        table = table.where(F.col("question").isin(list(question.spellings)))
    table = table.select("task", "worker", "label", *({"at"} & set(table.columns)))
    own = dict(table.dtypes)["label"]
    classes = question.classes
    made = {type(label) for label in classes.values() if label is not None}
    if written is not None:
        if made <= {int}:
            return table.withColumn("label", F.col("label").cast("bigint"))
        if question.kind.recode is None:
            text = next(name for name in written.values() if isinstance(name, str))
            raise InputError(wording.where, "labels that are whole numbers or text", text)
        names = {value: classes[name] for value, name in written.items() if name in classes}
        return recode(table, "label", names, "string")
    if not question.changes:
        return table
    kind = {str: "string", int: "bigint", bool: "boolean"}
    return recode(table, "label", classes, kind[made.pop()] if made else own)


# Labels that contradict one another -------------------------------------------------------------


@dataclass(frozen=True)
class SparkOrigin:
    """The DataFrame that labels came from."""

    df: DataFrame
    roles: Roles
    wording: Wording

    def telling_columns(self) -> list[str]:
        """Columns without a role that tell contradicting labels apart, as far as some rows show."""
        from pyspark.sql import functions as F

        roles, kinds = self.roles, dict(self.df.dtypes)
        others = [name for name in roles.others if not kinds[name].startswith(NESTED)]
        if roles.worker is None or len(roles.labels) != 1 or not others:
            return []
        keys = [name for name in (roles.task, roles.worker, roles.question) if name is not None]
        label = roles.labels[0]
        groups = self.df.groupBy([quoted(name) for name in keys])
        several = groups.agg(F.count_distinct(F.col(quoted(label))).alias("__labels"))
        several = several.where("__labels > 1").limit(CONTRADICTING).drop("__labels")
        rows = self.df.join(F.broadcast(several), keys, "left_semi")
        rows = rows.select([quoted(name) for name in (*keys, label, *others)])
        return telling_columns(pl.DataFrame(rows.toArrow()), keys, label, others)

    def words(self, role: str, value: str) -> str:
        """The words that give a role to a column, here or where they are understood."""
        if role == "choices":
            return "crowdstream run --choices, without Spark"
        name = self.wording.how.format(role)
        python = name.endswith("=")
        if (role, value) == ("repeats", "last"):
            return "at=COLUMN of times" if python else "--at COLUMN of times"
        return f"{name}{value!r}" if python else f"{name} {value}"
