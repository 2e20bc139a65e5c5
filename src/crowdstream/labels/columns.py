"""The columns of a table of labels: which of them holds what, by the user's word or by its name.

Knows headers alone: nothing of cells, files or kinds of tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

from crowdstream.errors import InputError
from crowdstream.labels.column_hints import NEAR_GIVEN, nearest_columns, shown_columns, shown_name

ROLES = ("task", "worker", "label")
"""The columns that every table of labels has, in order."""


def _aliases(names: str) -> tuple[str, ...]:
    return tuple(names.split())


ALIASES = {
    "task": _aliases(
        "task task_id taskid item item_id example example_id unit unit_id _unit_id hitid object "
        "object_id document document_id doc_id text_id image image_id post post_id review "
        "review_id sample_id question_id id question sample"
    ),
    "worker": _aliases(
        "worker worker_id workerid _worker_id annotator annotator_id labeller labeler "
        "labeller_id labeler_id rater rater_id judge judge_id judge_model judge_name evaluator "
        "evaluator_id grader reviewer reviewer_id performer performer_id coder expert user "
        "user_id model"
    ),
    "label": _aliases(
        "label labels verdict judgment judgement vote class category annotation choice choices "
        "stars rating score answer response value"
    ),
    "question": _aliases(
        "question question_name criterion criterion_name criteria metric metric_name rubric "
        "rubric_name dimension aspect attribute assertion score_name"
    ),
    "repeat": _aliases("repeat repetition epoch run trial sample seed"),
    "gold": _aliases("gold truth true_label gold_label ground_truth groundtruth"),
}
"""Names that mean a column, the likeliest first, compared without case and spaces."""

PAIRWISE = (
    ("item_a", "model_a", "response_a", "answer_a", "output_a", "left", "a", "first"),
    ("item_b", "model_b", "response_b", "answer_b", "output_b", "right", "b", "second"),
    ("winner", "preference", "preferred"),
)
"""Names of the two items of a comparison and of who won: a header with one of each holds pairwise
comparisons, and so does one whose two items are called _a and _b."""


class ColumnNames(NamedTuple):
    """The columns as the user named them; None where they are to be found by their aliases.

    Parameters
    ----------
    task, worker
        Names of columns.
    label
        Name of the column of labels. Several names: each column is a question of its own, or with
        ``wide`` the column of a worker.
    wide
        The table has one row per task and one column per worker.
    question
        The column that names the question of a row, or the one question to read.
    repeat
        The column that tells repeated verdicts of a worker on a task apart.
    left_out
        Columns that hold no labels.

    Examples
    --------
    >>> find_columns(ColumnNames(label="said"), ["Item", "rater", "said"], "table")
    ('Item', 'rater', 'said')
    """

    task: str | None = None
    worker: str | None = None
    label: str | tuple[str, ...] | None = None
    wide: bool = False
    question: str | None = None
    repeat: str | None = None
    left_out: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels that the user named."""
        if self.label is None:
            return ()
        return (self.label,) if isinstance(self.label, str) else tuple(self.label)


class Roles(NamedTuple):
    """The columns of a table by what they hold.

    ``worker`` is None in wide tables, whose label columns are the workers. ``labels`` is empty
    where the cells must show which of the ``others`` hold labels. ``at`` holds times.
    """

    task: str
    worker: str | None
    labels: tuple[str, ...]
    question: str | None = None
    repeat: str | None = None
    others: tuple[str, ...] = ()
    at: str | None = None

    @property
    def wide(self) -> bool:
        """True if every worker has a column."""
        return self.worker is None

    @property
    def plain(self) -> bool:
        """True if a row is a label, with nothing but its worker and task."""
        return (
            len(self.labels) == 1
            and not self.wide
            and self.question is None
            and self.repeat is None
            and self.at is None
        )


def find_roles(names: ColumnNames, header: Sequence[str], where: str, how: str = "--{}") -> Roles:
    """Find which column holds what.

    ``how`` tells the user how to name a column, with ``{}`` for the role.

    >>> found = find_roles(ColumnNames(), ["item", "judge", "criterion", "verdict"], "table")
    >>> found.question, found.labels, found.plain
    ('criterion', ('verdict',), False)
    """
    _refuse_pairwise(names, header, where)
    task = find_column("task", names.task, header, where, how)
    if names.wide:
        worker = None
        labels = _wide_labels(names, header, where, how)
    else:
        worker = find_column("worker", names.worker, header, where, how)
        labels = _labels(names, header, where, how, (task, worker))
    used = [task, *([] if worker is None else [worker]), *labels]
    for name in used:
        if used.count(name) > 1:
            shown = ", ".join(map(repr, used))
            raise InputError(where, "different columns for task, worker and label", shown)
        if list(header).count(name) > 1:
            raise InputError(where, f"one column {shown_name(name)!r}", "several of this name")
    question = _question(names, header, used, several=not labels and not names.wide)
    used += [] if question is None else [question]
    repeat = _repeat(names, header, used, where, how)
    used += [] if repeat is None else [repeat]
    at = None
    if not names.wide and labels:  # else the cells decide which columns hold labels
        at = next((name for name in header if name not in used and simple_name(name) == "at"), None)
        at = None if at in names.left_out else at
        used += [] if at is None else [at]
    for name in names.left_out:
        if name not in header:
            found = shown_columns(header, nearest_columns(header, [simple_name(name)]))
            option = how.format("left_out" if how.endswith("=") else "leave-out")
            raise InputError(option, "a column of the table", f"{name!r}: {found}")
    others = tuple(name for name in header if name not in used and name not in names.left_out)
    return Roles(task, worker, labels, question, repeat, others, at)


def find_columns(
    names: ColumnNames, header: Sequence[str], where: str, how: str = "--{}"
) -> tuple[str, str, str]:
    """Find the columns of task, worker and label where there is one of each.

    Columns that name a question or a repeat are left to the caller (`find_roles` knows them).

    >>> find_columns(ColumnNames(), ["performer", "task", "label"], "table")
    ('task', 'performer', 'label')
    """
    found = find_roles(names, header, where, how)
    if len(found.labels) != 1 or found.worker is None:
        find_column("label", None, header, where, how)  # raises what is missing
        raise InputError(where, "one label column", shown_columns(found.labels))
    return found.task, found.worker, found.labels[0]


def _labels(
    names: ColumnNames,
    header: Sequence[str],
    where: str,
    how: str,
    used: tuple[str, ...],
) -> tuple[str, ...]:
    """The columns of labels of a table with one row per worker and task."""
    if names.label is not None:
        return tuple(find_column("label", name, header, where, how) for name in names.labels)
    place = _alias_place("label", header)
    if place is not None:
        return (header[place],)
    known = {simple_name(name) for role in ("question", "repeat") for name in ALIASES[role]}
    rest = [
        name
        for name in header
        if name not in used and name not in names.left_out and simple_name(name) not in known
    ]
    if len(rest) < 2:
        find_column("label", None, header, where, how)  # raises what is missing
    return ()


def _wide_labels(
    names: ColumnNames, header: Sequence[str], where: str, how: str
) -> tuple[str, ...]:
    """The columns of workers as the user named them; a table that is not wide is refused."""
    if twice := [name for name, times in Counter(header).items() if times > 1]:
        found = f"some twice: {shown_columns(twice)}"
        raise InputError(where, "column names that differ", found)
    if count_roles(ColumnNames(), header) == len(ROLES) and names.label is None:
        found = ", ".join(repr(find_column(role, None, header, where)) for role in ROLES)
        wide = "wide=True" if how.endswith("=") else how.format("wide")
        expected = "one row per task and one column per worker"
        raise InputError(where, expected, f"columns {found}: leave out {wide}")
    return tuple(find_column("label", name, header, where, how) for name in names.labels)


def _question(
    names: ColumnNames, header: Sequence[str], used: Sequence[str], *, several: bool
) -> str | None:
    """The column that names questions; ``several``: columns of labels are questions instead."""
    if names.question in header and names.question not in used and not several:
        return names.question
    free = [name for name in header if name not in used and name not in names.left_out]
    place = _alias_place("question", free)
    return None if place is None else free[place]


def _repeat(
    names: ColumnNames, header: Sequence[str], used: Sequence[str], where: str, how: str
) -> str | None:
    if names.repeat is not None:
        found = find_column("repeat", names.repeat, header, where, how)
        if found in used:
            raise InputError(how.format("repeat"), "a column that holds nothing else", repr(found))
        return found
    free = [name for name in header if name not in used and name not in names.left_out]
    place = _alias_place("repeat", free)
    return None if place is None else free[place]


def _refuse_pairwise(names: ColumnNames, header: Sequence[str], where: str) -> None:
    simple = {simple_name(name) for name in header}
    there = [next((n for n in each if n in simple), "") for each in PAIRWISE]
    first, second, winner = there
    if names.label is None and first and second and (winner or first.endswith("_a")):
        found = f"{first} and {second}: pairwise comparisons (crowdstream preferences rates them)"
        raise InputError(where, "labels of one task each", found)


def find_column(
    role: str, given: str | None, header: Sequence[str], where: str, how: str = "--{}"
) -> str:
    """Find the column of a role, by the name given or by one of its aliases.

    ``how`` tells the user how to name it, with ``{}`` for the role.

    >>> find_column("worker", None, ["id", "Annotator ID", "label"], "table")
    'Annotator ID'
    """
    if given is not None:
        if given in header:
            return given
        near = nearest_columns(header, [simple_name(given)], NEAR_GIVEN)
        hint = f" (did you mean {shown_name(near[0])!r}?)" if near else ""
        found = shown_columns(header, near) + hint
        raise InputError(where, f"a column {shown_name(given)!r}", found)
    place = _alias_place(role, header)
    if place is not None:
        return header[place]
    others = {alias for other in ROLES if other != role for alias in ALIASES[other]}
    near = [x for x in nearest_columns(header, ALIASES[role]) if simple_name(x) not in others]
    rest = [name for name in header if simple_name(name) not in others]
    if not near and len(header) <= len(ROLES) and len(rest) == 1:
        near = rest  # the only one left
    hint = f"did you mean {shown_name(near[0])!r}? " if near else ""
    found = f"{shown_columns(header, near)} ({hint}name it with {how.format(role)})"
    raise InputError(where, f"a {role} column", found)


def _alias_place(role: str, header: Sequence[str]) -> int | None:
    """The place of the column that has the likeliest of its role's names."""
    simple = [simple_name(name) for name in header]
    return next((simple.index(alias) for alias in ALIASES[role] if alias in simple), None)


def count_roles(names: ColumnNames, header: Sequence[str]) -> int:
    """Count the columns that are looked for and there.

    >>> count_roles(ColumnNames(label="said"), ["item", "who", "said"])
    2
    """
    if names.wide:
        return int(_is_there("task", names.task, header))
    given = {"task": names.task, "worker": names.worker}
    found = sum(_is_there(role, name, header) for role, name in given.items())
    if names.label is None:
        return found + _is_there("label", None, header)
    return found + all(name in header for name in names.labels)


def _is_there(role: str, given: str | None, header: Sequence[str]) -> bool:
    return _alias_place(role, header) is not None if given is None else given in header


def pick_columns(
    aliases: Mapping[str, Sequence[str]], header: Sequence[str], where: str
) -> list[str]:
    """Find the columns of several roles, each by one of its aliases.

    >>> pick_columns({"class": ("class", "label"), "cost": ("cost",)}, ["Cost", "label"], "table")
    ['label', 'Cost']
    """
    there = {simple_name(name): name for name in reversed(header)}
    found = [next((there[a] for a in names if a in there), None) for names in aliases.values()]
    if None in found:
        missing = [name for name, there in zip(aliases, found, strict=True) if there is None]
        near = nearest_columns(header, [name for role in missing for name in aliases[role]])
        expected = f"columns {', '.join(aliases)}"
        raise InputError(where, expected, shown_columns(header, near))
    return cast("list[str]", found)


def simple_name(name: str) -> str:
    """A column's name as aliases are compared.

    >>> simple_name(" Worker ID")
    'worker_id'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")
