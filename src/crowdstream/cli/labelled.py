"""Files of labels together with their correct labels, for commands that score methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crowdstream.errors import InputError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.cli.options import FileMeaning
    from crowdstream.labels.meaning.interpreting import ReadAs


class Labelled(NamedTuple):
    """Labels and their truths as tables, and what is to be said of how they were read.

    ``scale``: where each class lies, for labels on a scale.
    """

    labels: pl.DataFrame
    truths: pl.DataFrame
    scale: dict[str, float] | None
    notes: list[str]
    read_as: ReadAs


def read_labelled(
    where: str, files: list[str], meaning: FileMeaning, option: str, truth: str
) -> Labelled:
    """Read files that ask one question; ``option`` named the file of correct labels.

    ``where``: the command, for messages.
    """
    from crowdstream.cli.label_input import read_sources
    from crowdstream.cli.truths import match_truths
    from crowdstream.deciding import Prepared
    from crowdstream.labels.readers import find_sources
    from crowdstream.labels.scale import scale_of

    with meaning.bad_rows() as bad_rows:
        sources = find_sources(files, meaning.format, meaning.input_options())
        read = read_sources(meaning, sources, bad_rows)
    question = read.only(where)
    if question.kind.name == "choices":
        raise InputError(where, "classes or a scale", "choices")
    truths, file = match_truths(option, truth, Prepared.of(question))
    scale = None
    if question.kind.name == "scale":
        scale = question.kind.places
        if not question.kind.made:
            classes = [*question.table.classes, *truths["label"]]
            scale = scale_of(classes, meaning.hints().order, "--order")
    notes = [*read.notes, *file.notes()]
    return Labelled(question.table.frame(), truths, scale, notes, read.meaning.read_as)


def check_no_hints(meaning: FileMeaning, option: str) -> None:
    """Refuse options that say what labels mean where no file of labels is read.

    ``option``: the one that would have files read.
    """
    from crowdstream.labels.meaning.kinds import LabelHints

    if meaning.hints() != LabelHints():
        raise UsageError(f"{option} needs files of labels where options say what labels mean")
