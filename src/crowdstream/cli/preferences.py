"""`crowdstream preferences`: rate items by pairwise comparisons, and the judges who made them."""

from __future__ import annotations

import sys

from crowdstream.cli import options
from crowdstream.cli.json_output import preferences_report, print_json
from crowdstream.cli.output import check_apart, check_output, write_table
from crowdstream.cli.terminal import say
from crowdstream.validation import one_of


class Comparisons(options.Group, panel="Input"):
    """Options of the input's columns."""

    HELP = """
    comparisons: FILE  A file with one row per comparison: item_a (shown first), item_b, judge and
        winner (a, b, tie, or an item).
    --item-a COLUMN  Column of the first item, unless called item_a, model_a or the like.
    --item-b COLUMN  Column of the second item.
    --worker COLUMN  Column that names the judge, unless called judge, annotator or the like.
    --winner COLUMN  Column of the winner, unless called winner, preference or the like.
    """
    comparisons: str
    item_a: str | None = None
    item_b: str | None = None
    worker: str | None = None
    winner: str | None = None


class Rating(options.Group, panel="Rating"):
    """Options of the estimate."""

    HELP = """
    --position EFFECT  Whether each judge leans to what is shown first in its own way (worker), all
        lean alike (shared), or the order of the items means nothing (none).
    """
    position: str = "worker"


class PreferencesOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = f"""
    -o, --output FILE  Write the ratings: {options.TABLE_FILE}.
    --workers FILE  Write a table of the judges.
    """
    output: str | None = None
    workers: str | None = None


def preferences(
    given: Comparisons, out: PreferencesOutput, report: options.Report, rating: Rating
) -> None:
    """Rate items by pairwise comparisons of judges who differ.

    Prints one row per item, the best first: rating with its interval, comparisons, share won, the
    rating if all judges were alike. The summary says how well each judge tells items apart:
    1 is the mean, 0 guesses, below 0 prefers the worse.

    \b
    Examples:
      crowdstream preferences arena.csv -o ratings.csv --workers judges.csv
      crowdstream preferences arena.csv --position none --json
    """
    from crowdstream.labels.readers.small_tables import read_text_table
    from crowdstream.panel import preferences as rate
    from crowdstream.panel.comparisons import FIRST, JUDGE, SECOND, WINNER

    check_output(out.output, "--output")
    check_output(out.workers, "--workers")
    one_of("worker", "shared", "none")("--position", rating.position)
    check_apart([given.comparisons], {"--output": out.output, "--workers": out.workers})
    notes: list[str] = []
    named = {given.item_a, given.item_b, given.worker, given.winner} - {None}
    wanted = {*FIRST, *SECOND, *JUDGE, *WINNER, *map(str, named)}
    found = rate(
        read_text_table(given.comparisons, notes=notes, wanted=wanted),
        position=rating.position,  # type: ignore[arg-type]
        item_a=given.item_a,
        item_b=given.item_b,
        worker=given.worker,
        winner=given.winner,
    )
    if out.output is not None or (not report.json and not sys.stdout.isatty()):
        write_table(found.items, out.output)
    if out.workers is not None:
        write_table(found.workers, out.workers)
    if report.json:
        print_json(preferences_report(found, notes))
    elif not report.quiet:
        print(found.summary(), file=sys.stderr)
        for note in notes:
            say(f"note: {note}", "yellow")
