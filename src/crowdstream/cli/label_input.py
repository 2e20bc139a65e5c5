"""Files of labels that a command reads as a whole, cleaned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crowdstream.cli.output import check_apart

if TYPE_CHECKING:
    from crowdstream.cli.cleaning import WideCleaning
    from crowdstream.cli.options import LabelFiles
    from crowdstream.labels import CodedLabels


def read_labels(
    files: LabelFiles, cleaning: WideCleaning, outputs: dict[str, str | None]
) -> tuple[CodedLabels, list[str]]:
    """The labels, and what is to be said of them; ``outputs`` must be other files."""
    from crowdstream.labels.readers import find_sources, read_all

    sources = find_sources(files.labels, files.format, files.input_options())
    check_apart([source.path for source in sources], outputs)
    cleaner = cleaning.start(wide=files.wide)
    with files.bad_rows() as bad_rows:
        table = cleaner.clean(read_all(sources, files.names(wide=files.wide), bad_rows))
    return table, [*bad_rows.notes, *cleaner.end(ordinal=True)]
