"""The decisions of a run held against correct labels, piece by piece. Knows nothing of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.truths import TruthFile
    from crowdstream.deciding import Prepared
    from crowdstream.estimators import Estimator
    from crowdstream.labels import CodedLabels, TaskId
    from crowdstream.metrics import SetScores


class Score:
    """Score of decisions against a file of truths: how often, and on a scale how far, they err."""

    def __init__(self, truths: TruthFile, prepared: Prepared | None = None) -> None:
        self.truths = truths
        self.prepared = prepared
        self.tasks = 0
        self.error = 0.0
        self.distance: float | None = None
        self.sets: SetScores | None = None
        self._scored: list[pl.DataFrame] = []
        self._tied: list[pl.DataFrame] = []

    def take(self, decisions: pl.DataFrame, table: CodedLabels, gold: list[TaskId]) -> None:
        """Take in some decisions and their labels; what was taught as gold is not scored."""
        scored = decisions.select("task", "label", "margin")
        if gold:
            scored = scored.filter(~scored["task"].is_in(gold))
        truths = self._truths(table).select("task", gold="label")
        scored = scored.join(truths, on="task", maintain_order="left")
        tied = scored.filter(scored["margin"] == 0)
        self._scored.append(scored)
        labels = table.frame()
        self._tied.append(labels.join(tied, on="task", how="semi", maintain_order="left"))

    def _truths(self, table: CodedLabels) -> pl.DataFrame:
        from crowdstream.labels.gold import truth_table

        if self.prepared is None or self.prepared.choices is None:
            return truth_table(self.truths.match(table))
        self.truths.match(table)
        text_of = self.prepared.choices.text_of
        sets = {task: text_of(str(cell)) for task, cell in self.truths.given.items()}
        return truth_table(sets)

    def finish(self, estimator: Estimator, *, taught: bool) -> None:
        """Score what was taken; a tie counts by the chance that its random choice errs."""
        import polars as pl

        from crowdstream.metrics import error_rate, mean_distance, set_f1

        decided = pl.concat(self._scored)
        self.tasks = decided.height
        if not decided.height:
            found = "none in common with the labels"
            if taught:
                found += " that --gold does not have too"
            raise InputError("--truth", "tasks that have labels", found)
        by_majority = not (estimator.weighs_ and estimator.identifiable_)
        truths = decided.select("task", label="gold")
        kind = None if self.prepared is None else self.prepared.question.kind
        if kind is not None and kind.name != "classes":
            by_majority = False  # neither a median nor a set is a coin
        if self.prepared is not None and self.prepared.choices is not None:
            separator = self.prepared.choices.joiner
            self.sets = set_f1(decided.select("task", "label"), truths, separator=separator)
        if kind is not None and kind.name == "scale":
            self.distance = mean_distance(decided, truths, list(kind.places))
        self.error = error_rate(
            decided.drop("gold"),
            truths,
            labels=pl.concat(self._tied).cast({"label": pl.String}) if by_majority else None,
            classes=len(estimator.classes_),
        )
