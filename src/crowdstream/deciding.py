"""The labels of a question → what an estimator takes, and its decisions → those of the question.

Classes are decided as they are. On a scale the weighted median of the votes decides. Of choices an
estimator decides yes or no per task and class, and the answer is a set. Knows no estimators.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowdstream.decisions.decision import SettleRule
from crowdstream.labels import ClassLabel, CodedLabels, TaskId, Truths, read_truths
from crowdstream.labels.meaning.interpreting import QuestionLabels

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.choices import Choices


@dataclass(frozen=True)
class Prepared:
    """The labels of a question as an estimator takes them.

    ``table``: of choices, a label yes or no per task and class.
    """

    question: QuestionLabels
    table: CodedLabels
    choices: Choices | None = None

    @staticmethod
    def of(question: QuestionLabels) -> Prepared:
        """Prepare the labels of a question.

        >>> from crowdstream.labels.coding import interpret
        >>> rows = [("t1", "ann", ["cat", "dog"]), ("t1", "bob", ["cat"])]
        >>> rows = [dict(zip(("task", "worker", "label"), row)) for row in rows]
        >>> found = Prepared.of(interpret(rows, choices=True).questions[0])
        >>> found.table.frame()["label"].unique().sort().to_list()
        ['no', 'yes']
        """
        if question.kind.name != "choices":
            return Prepared(question, question.table)
        from crowdstream.choices import Choices

        kind = question.kind
        table = question.table.frame().drop_nulls(["task", "worker"])
        choices = Choices.of(table, separator=kind.separator, exact=kind.exact)
        return Prepared(question, choices.pairs, choices)

    @property
    def scale(self) -> bool:
        """True if the weighted median decides."""
        return self.question.kind.name == "scale"

    def truths(self, gold: Truths | None) -> dict[TaskId, ClassLabel] | None:
        """True classes as the estimator takes them."""
        if gold is None:
            return None
        found = read_truths(gold)
        recode = self.question.kind.recode
        if recode is not None:
            return {task: recode(label) for task, label in found.items()}
        if self.choices is None:
            return found
        return dict(self.choices.truths({task: str(cell) for task, cell in found.items()}))

    def decided(
        self,
        decisions: pl.DataFrame,
        rule: SettleRule,
        *,
        weighted: bool,
        gold: dict[TaskId, ClassLabel] | None = None,
    ) -> pl.DataFrame:
        """The decisions on the question, from those that an estimator made of the table.

        ``weighted``: whether votes were weighted, or only counted.
        """
        if self.choices is not None:
            return self.choices.join(decisions, gold, weighted=weighted, settle=rule.confidence)
        if not self.scale or not decisions.height:
            return decisions
        from crowdstream.ordinal import ordinal_decisions

        found: pl.DataFrame = ordinal_decisions(
            decisions,
            self.table,
            places=self.question.kind.places,
            weighted=weighted,
            gold=gold,
            settle=rule.confidence,
            min_labels=rule.min_labels,
        )
        return found

    def chances(self, chances: pl.DataFrame, *, weighted: bool) -> pl.DataFrame:
        """The probability of each class per task, from those of the table's classes."""
        if self.choices is None:
            return chances
        return self.choices.chances(chances, weighted=weighted)
