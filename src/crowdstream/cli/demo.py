"""`crowdstream demo`: a simulated panel of judges, decided, and then the truth.

Every number it prints is computed in that run; what did not hold is said as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from crowdstream.cli import options
from crowdstream.cli.json_output import DemoReport, print_json
from crowdstream.cli.output import make_folder, write_table
from crowdstream.cli.terminal import console, shorten_name
from crowdstream.plain_text import as_sentence, counted, percent, printable
from crowdstream.statements.dependence import BRIEFLY, measured_words
from crowdstream.statements.expected import expected_words, range_words
from crowdstream.statements.worth import panel_words
from crowdstream.validation import SEED
from crowdstream.wording import FLAGS, error_words, reason_words

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text

    from crowdstream.models.dependence import Dependence
    from crowdstream.simulation import SimulatedJudges
    from crowdstream.statements.expected import WrongDecisions
    from crowdstream.statements.worth import LabelWorth

WIDTH = 80
"""Columns that all of it fits in."""

FIRST, OVERRULED = 5, 3
"""Tasks that are shown: the first ones, and the first that are decided against most judges."""

BAND = 25
"""Characters of an error rate's interval, from 0 to 100 %."""

SURE = 0.95
"""Confidence from which on a decision is called sure."""


class Marks(NamedTuple):
    """Characters for verdicts and intervals."""

    passes: str
    fails: str
    line: str
    rate: str


DRAWN, TYPED = Marks("·", "✗", "─", "●"), Marks(".", "x", "-", "o")
"""Marks for terminals with Unicode, and for those without."""


class DemoOutput(options.Group, panel="Output"):
    """Options of output."""

    HELP = """
    -o, --output FOLDER  Also write labels.csv, truth.csv and decisions.csv there, to try commands
        on.
    --seed NUMBER  Another seed, another panel.
    --json  Print the figures as JSON.
    """
    output: str | None = None
    seed: int = 0
    json: bool = False


class Shown(NamedTuple):
    """Findings without the truth, and the truth beside them."""

    made: SimulatedJudges
    decisions: pl.DataFrame
    workers: pl.DataFrame
    worth: LabelWorth
    dependence: Dependence
    expected: WrongDecisions
    report: DemoReport


def demo(out: DemoOutput) -> None:
    """Show what crowdstream does, on a simulated panel of judges.

    Thirteen simulated language models say of 300 answers whether they pass. crowdstream decides
    each, and says which judge is to be believed and how sure it is, without knowing the truth.
    Then the truth is shown.

    \b
    Examples:
      crowdstream demo
      crowdstream demo -o folder     leave the files there, to try other commands on
    """
    SEED("--seed", out.seed)
    folder = None if out.output is None else make_folder(out.output)
    found = _find(out.seed)
    if folder is not None:
        write_table(found.made.labels, str(folder / "labels.csv"))
        write_table(found.made.truths, str(folder / "truth.csv"))
        write_table(found.decisions.drop("majority"), str(folder / "decisions.csv"))
    if out.json:
        print_json(found.report)
        return
    page = Page()
    _show_verdicts(page, found)
    _show_judges(page, found)
    _show_truth(page, found)
    _show_next(page, "labels.csv" if folder is None else str(folder / "labels.csv"))


def _find(seed: int) -> Shown:
    """Decide a simulated panel, and compare with the truth afterwards."""
    import polars as pl

    from crowdstream.estimators import Adaptive, MajorityVote
    from crowdstream.metrics import error_rate
    from crowdstream.metrics.expected import Doubt
    from crowdstream.monitoring import monitor
    from crowdstream.panel import effective_judges
    from crowdstream.simulation import simulate_judges
    from crowdstream.statements.advice import advice
    from crowdstream.statements.expected import expected_wrong
    from crowdstream.statements.worth import label_worth

    made = simulate_judges(seed=seed)
    crowd = monitor(Adaptive(), over_time=False)
    decisions = crowd.fit_predict(made.labels)
    counted_votes = MajorityVote().fit_predict(made.labels)
    majority = counted_votes.select("task", majority="label")
    decisions = decisions.join(majority, on="task", maintain_order="left")
    workers = crowd.workers()
    workers = workers.join(advice(crowd, workers), on="worker", maintain_order="left")
    worth = label_worth(crowd, float(workers.height))
    expected = expected_wrong(Doubt.of(decisions["confidence"].to_numpy()), crowd)

    # From here on the truth is known.
    truly = effective_judges(made.labels, made.truths)
    alone = truly.without.select("worker", true_rate="error_rate")
    workers = workers.join(alone, on="worker", maintain_order="left")
    inside = pl.col("true_rate").is_between("error_low", "error_high")
    best = workers.sort("true_rate", "worker").row(0, named=True)
    sure = decisions.filter(pl.col("confidence") >= SURE)
    wrong = error_rate(decisions, made.truths)
    assert truly.effective is not None
    report = DemoReport(
        tasks=decisions.height,
        workers=workers.height,
        labels=made.labels.height,
        seed=seed,
        error_rate=wrong,
        majority_error_rate=error_rate(counted_votes, made.truths),
        best_worker=best["worker"],
        best_worker_error_rate=best["true_rate"],
        expected_errors=expected,
        expected_errors_held=expected.low <= wrong * decisions.height <= expected.high,
        sure=sure.height,
        sure_error_rate=error_rate(sure, made.truths) if sure.height else None,
        intervals_held=workers.filter(inside).height,
        effective_votes=worth.effective,
        true_effective_votes=truly.effective.value,
    )
    return Shown(made, decisions, workers, worth, crowd.dependence_, expected, report)


class Page:
    """Lines on standard output, of at most 80 columns."""

    def __init__(self) -> None:
        found = console(stderr=False)
        self.console = console(stderr=False, width=min(found.width, WIDTH))
        drawn = (self.console.encoding or "").lower().startswith("utf")
        self.marks = DRAWN if drawn else TYPED

    def title(self, text: str) -> None:
        """Print a heading after an empty line."""
        self.console.print()
        self.console.print(text, style="bold")

    def text(self, words: str) -> None:
        """Print sentences, broken between words."""
        import textwrap

        for line in textwrap.wrap(words.replace(" %", "\u00a0%"), self.console.width - 2):
            self.console.print("  " + line.replace("\u00a0%", " %"), soft_wrap=True)

    def line(self, text: Text) -> None:
        """Print a row of a table, cut where the terminal ends."""
        self.console.print(text, no_wrap=True, overflow="ellipsis")


def _letters(found: Shown) -> dict[str, str]:
    """A letter for each judge, the best first."""
    from crowdstream.cli.summary import ranked

    names = ranked(found.workers)["worker"].to_list()
    return {name: chr(ord("a") + k) for k, name in enumerate(names)}


def _show_verdicts(page: Page, found: Shown) -> None:
    """Show some tasks: what each judge said, what was decided, and how sure that is."""
    import polars as pl
    from rich.text import Text

    report, marks, letters = found.report, page.marks, _letters(found)
    page.console.print(
        f"{counted(report.workers, 'simulated judge')} say of {report.tasks:,} answers whether "
        "they pass.",
        style="bold",
    )
    page.title(f"1. The verdicts ({marks.passes} pass, {marks.fails} fail), and what is decided")
    page.line(Text(f"  {'':6}{' '.join(letters.values())}   decided  confidence", "dim"))
    against = found.decisions.filter(pl.col("label") != pl.col("majority")).head(OVERRULED)
    rows = pl.concat([found.decisions.head(FIRST), against]).unique("task").sort("task")
    said = {(task, who): label for task, who, label in found.made.labels.iter_rows()}
    for row in rows.iter_rows(named=True):
        line = Text(f"  {row['task']:<6}")
        votes = [said[row["task"], who] for who in letters]
        for label in votes:
            fails = label == "fail"
            line.append(marks.fails if fails else marks.passes, "red" if fails else "green")
            line.append(" ")
        line.append(f"  {row['label']:<9}{row['confidence']:>10.2f}")
        if row["label"] != row["majority"]:
            line.append(f"   against {votes.count(row['majority'])} of {len(votes)}", "yellow")
        page.line(line)
    more = f"… and {report.tasks - rows.height:,} more."
    page.text(f"{more} {as_sentence(expected_words(found.expected, report.tasks))}")


def _show_judges(page: Page, found: Shown) -> None:
    """Show each judge's error rate with its interval as a band."""
    from rich.text import Text

    from crowdstream.cli.summary import ranked

    page.title("2. Who is to be believed? Nobody told us: by agreement alone")
    axis = f"{'0':<{BAND // 2}}{'50':<{BAND - BAND // 2 - 3}}100"
    page.line(Text(f"    {'judge':<14}{'errs (95 %)':<14}{axis} %", "dim"))
    letters = _letters(found)
    for row in ranked(found.workers).iter_rows(named=True):
        rate, low, high = row["error_rate"], row["error_low"], row["error_high"]
        words = error_words(rate, low, high) or "not known"
        band = _band(page.marks, rate, low, high)
        line = Text(f"  {letters[row['worker']]} {shorten_name(row['worker'], 13):<14}{words:<14}")
        line.append(band, "cyan")
        line.append(f" {_remark(row)}", "yellow")
        line.rstrip()
        page.line(line)
    page.text(as_sentence(panel_words(found.worth)))
    about = BRIEFLY[found.dependence.verdict].replace("these workers", "these judges")
    page.text(as_sentence(about + measured_words(found.dependence)))


def _remark(row: dict[str, Any]) -> str:
    """Say what stands out of a judge, if anything does."""
    if "always_one_class" in row["flags"]:
        return FLAGS["always_one_class"].text
    if row["advice"] in ("drop", "coach", "pay"):
        return reason_words(row["reason"], row["on_class"])
    return ""


def _band(marks: Marks, rate: float | None, low: float | None, high: float | None) -> str:
    """Draw an interval between 0 and 100 %, and the rate on it.

    >>> _band(TYPED, 0.3, 0.1, 0.5)
    '  -----o-----            '
    """
    if rate is None or low is None or high is None:
        return " " * BAND
    first, at, last = (round(share * (BAND - 1)) for share in (low, rate, high))
    cells = [marks.line if first <= k <= last else " " for k in range(BAND)]
    cells[at] = marks.rate
    return "".join(cells)


def _show_truth(page: Page, found: Shown) -> None:
    """Show what was right, and which of the claims held."""
    from rich.text import Text

    report = found.report
    page.title("3. The truth, which crowdstream never saw")
    for who, rate in (
        ("crowdstream", report.error_rate),
        ("majority vote", report.majority_error_rate),
        (f"the best judge, {report.best_worker}", report.best_worker_error_rate),
    ):
        page.line(Text(f"  {who:<28} wrong on {percent(rate):>6}"))
    held = "that held" if report.expected_errors_held else "that did NOT hold"
    page.text(f"Expected were {range_words(found.expected, report.tasks)}: {held}.")
    if report.sure_error_rate is not None:
        page.text(
            f"Of {counted(report.sure, 'decision')} with a confidence of {SURE:g} or more, "
            f"{percent(1.0 - report.sure_error_rate)} are right."
        )
    page.text(
        f"{report.intervals_held} of {report.workers} intervals hold the judge's true error rate. "
        f"By true errors the panel is worth {report.true_effective_votes:.1f} judges."
    )


def _show_next(page: Page, file: str) -> None:
    """Show what to type for one's own file."""
    import shlex

    from rich.text import Text

    page.title("4. Your own file: a row per verdict, with columns task, worker and label")
    named = shlex.quote(printable(file))
    for command, what in (
        (f"run {named} -o decisions.csv", "decide every task"),
        (f"jury {named} --workers w.csv", "what is each judge worth?"),
        (f"report {named} -o report.html", "one page to show others"),
    ):
        line = Text("  crowdstream ")
        line.append(f"{command:<38}", "bold")
        if len(line) + len(what) + 2 <= page.console.width:
            line.append(f"  {what}", "dim")
        page.console.print(
            line, soft_wrap=True
        )  # a command is not cut, however long the file's name
    if file == "labels.csv":
        page.text("crowdstream demo -o folder writes the labels above, to try these on.")
