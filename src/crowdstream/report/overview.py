"""The first screen of a question: the answer, four tiles, whom to trust, uncertain tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from crowdstream.plain_text import as_sentence, counted, percent
from crowdstream.report.parts import Place, band, band_axis, chip, meter, name_of
from crowdstream.report.told import (
    answer,
    changes_words,
    how_known,
    missing_words,
    named,
    steps_words,
    workers_words,
    wrong_words,
)
from crowdstream.statements.agreement import agreement_words
from crowdstream.theme import Markup, escaped, html_table
from crowdstream.wording import reason_words

if TYPE_CHECKING:
    import polars as pl

    from crowdstream.report.findings import Findings

TRUSTED = 8
"""Workers on the first screen."""

STATES = {"drop": "bad", "coach": "warn", "pay": "good", "keep": "", "wait": ""}
"""The colour of what is advised; the word stands beside it."""

NOTHING = 0.0005
"""Share of labels below which none is said to have been spared."""

NEEDS = {"labels": "+{}", "expert": "an expert"}


class Tile(NamedTuple):
    """A number with its name and what it means; ``share`` of a bar below it."""

    name: str
    value: str
    about: str
    share: float | None = None


def overview(found: Findings, place: Place = Place()) -> str:  # noqa: B008 a tuple
    """All of it."""
    how = how_known(found)
    said = [*missing_words(found), "" if found.from_state else workers_words(found)]
    said.append(changes_words(found))
    if words := agreement_words(found.agreement):
        said.append(as_sentence(words))
    lines = "".join(f"<p>{escaped(line)}</p>" for line in said if line)
    known = f" <span>{escaped(how[0].upper() + how[1:])}.</span>" if how else ""
    first = f"<p><strong>{escaped(answer(found))}</strong>{known}</p>"
    tiles = "".join(map(_tile, tiles_of(found)))
    panels = [panel.html(place) for panel in (_trust(found), _doubt(found)) if panel is not None]
    return (
        f"<div class=answer>{first}{lines}</div>"
        f"<div class=tiles>{tiles}</div><div class=panels>{''.join(panels)}</div>"
    )


def tiles_of(found: Findings) -> list[Tile]:
    """Done, how right, saved, what a label is worth; of a state, what it knows."""
    worth = _worth(found) if found.pairs is None else _chosen(found)
    if found.from_state:
        workers = len(found.crowd._workers)
        each = found.labels / max(found.tasks, 1)
        return [
            Tile("Tasks", f"{found.tasks:,}", "learnt from so far"),
            Tile("Labels", f"{found.labels:,}", f"{each:.1f} per task"),
            Tile("Workers", f"{workers:,}", f"{found.labels / max(workers, 1):,.0f} answers each"),
            worth,
        ]
    share = found.settled / max(found.tasks, 1)
    rest = counted(found.tasks - found.settled, "task", "in doubt")
    done = Tile("Settled tasks", f"{found.settled:,}", f"of {found.tasks:,} · {rest}", share)
    return [done, _wrong(found), _saved(found), worth]


def _wrong(found: Findings) -> Tile:
    wrong, about = wrong_words(found), how_known(found)
    expected = found.measured is None
    if found.kind == "choices":
        about = f"expected: {about}" if expected else about
        return Tile("Sets not exactly right", wrong, about)
    far = found.steps if expected else found.distance
    if far is not None:
        name = "Expected distance from the truth" if expected else "Distance from the truth"
        decisions = "expected wrong decisions" if expected else "wrong decisions"
        return Tile(name, steps_words(far), f"on average; {decisions} {wrong}, {about}")
    return Tile("Expected wrong decisions" if expected else "Wrong decisions", wrong, about)


def _saved(found: Findings) -> Tile:
    spending = found.spending
    each = f"{found.labels / max(found.tasks, 1):.1f} per task"
    if spending is None or spending.saved is None:
        return Tile("Labels", f"{found.labels:,}", each)
    if spending.saved < NOTHING and found.settings.price is None:
        return Tile("Labels", f"{found.labels:,}", f"{each}; all were needed, by this rule")
    other = spending.other_decisions
    then = "" if other is None else f", and {percent(other)} of the decisions would differ"
    spared = f"had each task been stopped once settled{then}"
    if found.settings.price is None:
        about = f"of {counted(found.labels, 'label')}, {spared}"
        return Tile("Labels to spare", percent(spending.saved), about, spending.saved)
    about = f"{spending.enough:,.2f} {spared}"
    return Tile("Money spent", f"{spending.total:,.2f}", about, 1.0 - spending.saved)


def _chosen(found: Findings) -> Tile:
    """Make the tile of the mean size of sets; for choices the worth of a label is not known."""
    assert found.decisions is not None
    sizes = [len(found.parts(label)) for label in found.decisions["label"].drop_nulls()]
    mean = sum(sizes) / max(len(sizes), 1)
    about = f"of {counted(len(found.classes), 'choice')}: {named(found.classes)}"
    return Tile("Chosen per task", f"{mean:.1f}", about)


def _worth(found: Findings) -> Tile:
    monitors = found.monitors
    name = "Independent votes per label"
    if monitors is None or monitors.worth is None or not found.identified:
        return Tile(name, "not known", "whether errors are independent cannot be told")
    share = monitors.worth.effective / monitors.worth.votes
    return Tile(name, f"{share:.2f}", f"at most: {monitors.worth.about}", share)


def _tile(tile: Tile) -> str:
    bar = "" if tile.share is None else meter(tile.share)
    return (
        f"<div class=tile><p>{escaped(tile.name)}</p><p class=value>{escaped(tile.value)}</p>"
        f"<p>{escaped(tile.about)}</p>{bar}</div>"
    )


class Panel(NamedTuple):
    """A part of the first screen: its heading, a line below it, and the rest."""

    title: str
    said: str
    body: str

    def html(self, place: Place) -> str:
        """As it stands in the page."""
        heading = f"<h{place.level}>{escaped(self.title)}</h{place.level}>"
        return f"<div class=panel>{heading}<p class=note>{escaped(self.said)}</p>{self.body}</div>"


def _trust(found: Findings) -> Panel:
    """The busiest workers with their intervals."""
    if not found.identified:
        head = ["worker", "answers"]
        busy = found.workers.top_k(TRUSTED, by="answers")
        rows = [[name_of(who), f"{n:,.0f}"] for who, n in busy.select(head).iter_rows()]
        said = "The busiest; error rates cannot be known from these labels."
        table = html_table(head, rows, label="the busiest workers", right=["answers"])
        return Panel("Workers", said, table)
    known = found.workers.drop_nulls("error_rate")
    busy = known.top_k(TRUSTED, by="answers").sort("answers", descending=True)
    said = f"The {busy.height} busiest of {counted(len(found.crowd._workers), 'worker')}."
    level = f"{100 * found.settings.level:.4g} %"
    chance = 1 - 1 / max(len(found.crowd.classes_), 2)
    legend = f"Band: {level} interval. Dashed: a worker who guesses. " + (
        "Hollow: rests on agreement alone." if is_hollow(busy) else "Filled: borne out by gold."
    )
    table = html_table(
        ["worker", "answers", band_axis(_reach(busy, chance), chance), "error rate", "advice"],
        worker_rows(busy, len(found.crowd.classes_)),
        label="the busiest workers",
        right=["answers", "error rate"],
    )
    if found.pairs is not None:
        legend += " Answers are yes or no to each choice."
    return Panel("Whom to trust", said, table + f"<p class=note>{escaped(legend)}</p>")


def is_hollow(workers: pl.DataFrame) -> bool:
    """Return True if error rates rest on agreement alone."""
    return not workers["evidence"].eq("gold").any()


def worker_rows(workers: pl.DataFrame, classes: int) -> list[list[str]]:
    """Rows of worker, answers, band, error rate, advice."""
    chance = 1 - 1 / max(classes, 2)
    top = _reach(workers, chance)
    hollow = is_hollow(workers)
    rows = []
    for row in workers.iter_rows(named=True):
        rate, low, high = row["error_rate"], row["error_low"], row["error_high"]
        rows.append(
            [
                name_of(row["worker"]),
                f"{row['answers']:,.0f}",
                band(rate, low, high, top, chance, hollow),
                interval(rate, low, high),
                advice_chip(row),
            ]
        )
    return rows


def _reach(workers: pl.DataFrame, chance: float) -> float:
    """Return the end of the axis of error rates."""
    highest = workers["error_high"].max()
    return max(chance * 1.05, cast("float", highest) if highest is not None else 0.0)


def interval(rate: float, low: float | None, high: float | None) -> Markup:
    """An error rate in bold, its limits after it."""
    limits = ""
    if low is not None and high is not None:
        limits = f" <small>{percent(low).removesuffix(' %')}–{percent(high)}</small>"
    return Markup(f"<strong>{percent(rate)}</strong>{limits}")


def advice_chip(row: dict[str, object]) -> str:
    """Return the advice as a chip, with its reason as tooltip."""
    advice = row.get("advice")
    if advice in (None, "keep"):
        return ""
    on_class = row["on_class"]
    why = reason_words(str(row["reason"]), None if on_class is None else str(on_class))
    return chip(why if advice == "wait" else f"{advice}: {why}", STATES[str(advice)])


def _doubt(found: Findings) -> Panel | None:
    """The tasks nearest to a coin toss."""
    if found.doubtful is None:
        return None
    if not found.doubtful.height:
        return Panel("Most uncertain tasks", "No task is in doubt: all are settled.", "")
    scores = scores_of(found)
    rows = [
        [
            name_of(row["task"]),
            name_of(row["label"]),
            *([scores.get(row["task"], "")] if scores else []),
            percent(row["confidence"]),
            f"{row['votes']:,}",
            NEEDS[row["needs"]].format(row["more_labels"]),
        ]
        for row in found.doubtful.iter_rows(named=True)
    ]
    numbers = [*(["score"] if scores else []), "sure", "labels", "needs"]
    first = "task" if found.pairs is None else "task: choice"
    table = html_table([first, "leans to", *numbers], rows, label="tasks in doubt", right=numbers)
    what = "Tasks" if found.pairs is None else "Choices of a task"
    said = f"{what} nearest to a coin toss, and how many more labels each needs."
    return Panel("Most uncertain tasks", said, table)


def scores_of(found: Findings) -> dict[object, str]:
    """The score of every task on a scale, as it is shown; nothing where there is no scale."""
    if found.decisions is None or "score" not in found.decisions.columns:
        return {}
    rows = found.decisions.select("task", "score").drop_nulls().iter_rows()
    return {task: f"{score:.2f}" for task, score in rows}
