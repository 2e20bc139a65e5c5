"""`crowdstream report`: what is on the page, that it agrees with `run`, and what is refused.

What a browser makes of the page is tested with all others, in `tests/browser/test_pages.py`.
"""

from __future__ import annotations

import csv
import html
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import polars as pl
import pytest

import crowdstream as cs
from crowdstream.panel.report import with_interval
from crowdstream.plain_text import percent
from crowdstream.report.page import EARLY
from crowdstream.report.told import steps_words
from crowdstream.simulation import simulate_dependent
from crowdstream.statements.expected import WrongDecisions, share_words
from tests.chromium import needs_chromium
from tests.cli.tool import Row, call, csv_of, gold_of, labels, left_in, refused
from tests.fuzzing import FIXTURES

pytest.importorskip("vl_convert", reason="the extra report is not installed")

ROWS = labels(200, seed=3)

COLUMNS = ("task", "worker", "question", "label")
Asked = tuple[str, str, str, str]
"""Task, worker, question, label."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("report")
    (made / "labels.csv").write_bytes(csv_of(ROWS))
    (made / "gold.csv").write_bytes(gold_of(ROWS))
    (made / "some.csv").write_bytes(gold_of(ROWS[:300]))
    return made


def text_of(page: Path) -> str:
    """What is written on a page, charts left out."""
    shown = re.sub(
        r"<style.*?</style>|<figure.*?</figure>", " ", page.read_text("utf-8"), flags=re.S
    )
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", shown)).split())


def sections(page: Path) -> list[str]:
    return re.findall(r'<section id="(\w+)"', page.read_text("utf-8"))


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    """With everything that can be told."""
    target = folder / "page.html"
    how = ("--truth", folder / "gold.csv", "--price", "0.05", "--title", "June & July")
    result = call("report", folder / "labels.csv", "--in-order", *how, "-o", target)
    assert result.code == 0, result.err
    assert "page.html: 0." in result.err
    return target


def test_it_has_every_section_and_needs_nothing_from_elsewhere(page: Path) -> None:
    told = "workers advice drift agreement together hardest confidence money limits notes words"
    assert sections(page) == told.split()
    text = page.read_text("utf-8")
    assert set(re.findall(r"\w+://[^\s\"'<]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "<script" not in text
    assert "NaN" not in text
    assert "<h1>June &amp; July</h1>" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))  # or one chart would be clipped by another's shape


def test_it_says_what_run_says(page: Path, folder: Path) -> None:
    run = call("run", folder / "labels.csv", "--truth", folder / "gold.csv", "--json").report
    said = text_of(page)
    assert f"{run['labels']:,} labels on {run['tasks']} tasks from {run['workers']} workers" in said
    share = 100 * run["settled"] / run["tasks"]
    wrong = 100 * run["error_rate"]
    assert f"{share:.1f} % of the tasks are settled, and {wrong:.1f} % of the decisions" in said
    assert f"measured on {run['scored_tasks']} tasks whose truth is known" in said
    assert f"{run['labels'] * 0.05:,.2f}" in said


def test_without_truth_it_says_that_nothing_was_checked(folder: Path) -> None:
    target = folder / "alone.html"
    assert call("report", folder / "labels.csv", "-q", "-o", target).code == 0
    said = text_of(target)
    assert "expected to be wrong" in said
    assert "wider by joint errors, as far as labels allow" in said
    assert "Hollow: rests on agreement alone" in said
    assert "only gold can show tasks that fool most of the crowd" in said
    assert "money" not in sections(target)


def test_gold_is_learnt_from_and_checked_against(folder: Path) -> None:
    target = folder / "gold.html"
    gold = ("--gold", folder / "some.csv")
    assert call("report", folder / "labels.csv", *gold, "-q", "-o", target).code == 0
    said = text_of(target)
    assert "checked against 60 gold tasks" in said
    assert "Filled: borne out by gold" in said
    assert "60 of 60 gold tasks matched" in said


def test_a_page_to_be_sent_names_files_without_their_folders(tmp_path: Path) -> None:
    """Nor does it say of one gold task what workers are worth together."""
    export = FIXTURES / "label-studio" / "export.json"
    target = tmp_path / "page.html"
    assert call("report", export, "--as-classes", "-q", "-o", target).code == 0
    said = text_of(target)
    assert "learnt from the gold in export.json: 1 task" in said
    assert str(export.parent) not in target.read_text("utf-8")
    assert "1 task of known truth: what they are worth together cannot be told" in said
    assert "no two judges" not in said


def test_a_state_tells_of_workers_and_says_what_is_missing(folder: Path) -> None:
    state, target = folder / "crowd.state", folder / "state.html"
    made = call(
        "run", folder / "labels.csv", "-q", "--in-order", "--state", state, "-o", folder / "d.csv"
    )
    assert made.code == 0
    before = state.read_bytes()
    assert call("report", state, "-q", "-o", target).code == 0
    assert sections(target) == [
        "workers",
        "advice",
        "drift",
        "agreement",
        "together",
        "limits",
        "words",
    ]
    assert "need the labels" in text_of(target)
    refused(call("report", state, "--truth", folder / "gold.csv", "-o", target), "a state")
    # With the labels that it has learnt, they are decided and not learnt again.
    how = ("--state", state, "-q", "-o", target)
    assert call("report", folder / "labels.csv", *how).code == 0
    assert "1,000 labels on 200 tasks" in text_of(target)
    assert state.read_bytes() == before


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("t1", "ann", "x"), ("t2", "ann", "y")], "no two workers share a task"),
        ([("t", "ann", "x"), ("t", "bob", "y")], "fewer than three workers share tasks"),
        ([(f"t{k}", w, "x") for k in range(9) for w in "abc"], "27 labels on 9 tasks"),
    ],
)
def test_little_is_told_of_little(tmp_path: Path, rows: list[Row], said: str) -> None:
    (tmp_path / "few.csv").write_bytes(csv_of(rows))
    target = tmp_path / "few.html"
    assert call("report", tmp_path / "few.csv", "-q", "-o", target).code == 0
    assert said in text_of(target)
    assert "NaN" not in target.read_text("utf-8")


def test_majority_vote_judges_nobody(folder: Path) -> None:
    target = folder / "majority.html"
    how = ("--method", "majority", "-q", "-o", target)
    assert call("report", folder / "labels.csv", *how).code == 0
    assert "This method judges nobody" in text_of(target)
    assert "workers" not in sections(target)


def test_a_slide_is_drawn_without_a_browser(folder: Path) -> None:
    slide = folder / "slide.png"
    with mock.patch("crowdstream.report.printing.find_browser", return_value=None):
        how = ("--png", slide, "-q", "-o", folder / "s.html")
        assert call("report", folder / "labels.csv", *how).code == 0
    data = slide.read_bytes()
    assert data.startswith(b"\x89PNG")
    assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1920, 1080)
    assert len(data) > 50_000  # tiles and charts, not a blank


@needs_chromium
def test_the_page_is_printed(page: Path, folder: Path) -> None:
    from crowdstream.report.printing import print_page

    data = print_page(page.read_text("utf-8"))
    assert data.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 12


def test_what_cannot_be_made_is_refused_before_any_work(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_bytes(csv_of(ROWS[:20]))
    (tmp_path / "none.csv").write_bytes(csv_of([]))
    file = tmp_path / "labels.csv"
    refused(call("report", file, "-o", tmp_path / "r.csv"), "--output", ".html")
    refused(call("report", file, "--png", tmp_path / "r.jpg"), "--png", ".png")
    refused(call("report", file, "--price", "-1"), "--price")
    refused(call("report", tmp_path / "none.csv", "-o", tmp_path / "r.html"), "at least one label")
    refused(call("report", tmp_path / "no.csv", "-o", tmp_path / "r.html"), "no.csv")
    with mock.patch("crowdstream.report.printing.find_browser", return_value=None):
        refused(call("report", file, "--pdf", tmp_path / "r.pdf"), "needs a Chromium or Chrome")
    with mock.patch("importlib.util.find_spec", return_value=None):
        refused(call("report", file), "pip install 'crowdstream[report]'")
    assert left_in(tmp_path) == ["labels.csv", "none.csv"]


# What the labels mean ---------------------------------------------------------------------------

KINDS = {"tone": ("good", "bad"), "toxic": ("yes", "no"), "topic": ("a", "b", "c")}


def ask(
    questions: Mapping[str, Sequence[str]], tasks: int = 60, error: float = 0.15
) -> list[Asked]:
    """Rows of several questions by six workers, of whom each errs as often."""
    draw, rows = random.Random(1), list[Asked]()
    for question, classes in questions.items():
        for task in range(tasks):
            truth = classes[task % len(classes)]
            for worker in "abcdef":
                said = draw.choice(classes) if draw.random() < error else truth
                rows.append((f"t{task}", worker, question, said))
    return rows


def write_table(path: Path, head: str, rows: Iterable[Sequence[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(head.split())
        writer.writerows(rows)
    return path


def report_of(folder: Path, file: Path, *how: str | Path) -> Path:
    target = folder / "page.html"
    result = call("report", file, *how, "-q", "-o", target)
    assert result.code == 0, result.err
    return target


def test_every_question_has_a_line_and_a_section_of_its_own(tmp_path: Path) -> None:
    file = write_table(tmp_path / "q.csv", "task worker question label", ask(KINDS))
    result = call("report", file, "-o", tmp_path / "page.html")
    assert result.code == 0, result.err
    page = tmp_path / "page.html"
    text, said = page.read_text("utf-8"), text_of(page)
    runs = call("run", file, "--json").report["questions"]
    assert [run["question"] for run in runs] == list(KINDS)
    rows = re.findall(r"<tr>.*?</tr>", text.partition("id=questions")[2].partition("</div>")[0])[1:]
    for number, (run, row) in enumerate(zip(runs, rows, strict=True), start=1):
        cells = [html.unescape(re.sub(r"<[^>]+>", "", x)) for x in re.findall("<td.*?</td>", row)]
        settled = percent(run["settled"] / run["tasks"])
        assert cells[:5] == [run["question"], "60", "6", str(run["classes"]), settled]
        assert cells[6].startswith(percent(run["expected_errors"]["errors"] / run["tasks"]))
        assert cells[7].startswith("expected, ")
        assert f'href="#q{number}-top"' in row
        assert f"Question {number} of 3 · 360 labels on 60 tasks from 6 workers" in said
        assert run["question"] in result.err
    every = re.findall(r'<section id="([\w-]+)"', text)
    assert [name for name in every if name.endswith("workers")] == [
        "q1-workers",
        "q2-workers",
        "q3-workers",
    ]
    ids = re.findall(r' id="?([^"\s>]+)', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(ids)
    assert "question=question (3)" in said.partition("Question 1 of 3")[0]
    alone = text_of(report_of(tmp_path, file, "--question", "tone"))
    assert "360 labels on 60 tasks from 6 workers; 2 classes" in alone
    assert "Question 1" not in alone


def test_what_was_joined_or_is_no_answer_is_said_before_the_answer(tmp_path: Path) -> None:
    spelt = [
        (task, worker, "N/A" if (number % 29) == 0 else (said, said.upper())[number % 2])
        for number, (task, worker, _, said) in enumerate(ask({"": ("yes", "no")}))
    ]
    file = write_table(tmp_path / "spelt.csv", "task worker label", spelt)
    result = call("report", file, "-o", tmp_path / "page.html")
    assert result.code == 0, result.err
    for said in (text_of(tmp_path / "page.html"), " ".join(result.err.split())):
        before = said.partition("of the tasks are settled")[0]
        assert "read as: task=task, worker=worker, label=label (" in before
        assert "4 spellings are 2 classes" in before
        assert "'N/A' (13) is no answer" in before


def test_more_notes_than_the_top_has_room_for_are_a_click_away(tmp_path: Path) -> None:
    names = [f"question {number}" for number in range(7)]
    rows = ask(dict.fromkeys(names, ("yes", "YES", "no")), tasks=9, error=0.2)
    file = write_table(tmp_path / "q.csv", "task worker question label", rows)
    page = report_of(tmp_path, file)
    before, _, after = text_of(page).partition("Question 1 of 7")
    assert before.count("spellings are") == EARLY
    assert "2 notes more at the end" in before
    assert after.partition("All notes on the input")[2].count("spellings are") == 7
    assert page.read_text("utf-8").count('id="input"') == 1


def test_a_worker_who_may_not_have_been_asked_leaves_nothing_out(tmp_path: Path) -> None:
    """Five of eight workers on each task, and nobody says who was asked."""
    draw = random.Random(6)
    rows = [
        (task, worker, "x" if (task % 2) != (draw.random() < 0.1) else "y")
        for task in range(80)
        for worker in draw.sample("abcdefgh", 5)
    ]
    assert "missing" not in sections(report_of(tmp_path, write_table(*sparse(tmp_path, rows))))
    # In a panel that answers everything but for some tasks, what is not there was left out.
    rows = [(task, who, "xy"[task % 2]) for task in range(80) for who in "abcd"][:-1]
    page = report_of(tmp_path, write_table(*sparse(tmp_path, rows)))
    assert "d left out most, 1.2 % of 80 tasks" in text_of(page)
    assert "do not say who was asked" in text_of(page)


def sparse(folder: Path, rows: list[tuple[int, str, str]]) -> tuple[Path, str, list[Any]]:
    return folder / "sparse.csv", "task worker label", rows


def test_truths_of_several_questions_need_not_have_them_all(tmp_path: Path) -> None:
    file = write_table(tmp_path / "q.csv", "task worker question label", ask(KINDS))
    known = [(f"t{task}", "tone", ("good", "bad")[task % 2]) for task in range(60)]
    truth = write_table(tmp_path / "truth.csv", "task question label", known)
    said = text_of(report_of(tmp_path, file, "--truth", truth))
    assert said.count("measured on 60 tasks whose truth is known") == 2  # the answer and its tile
    assert "measured on 60 tasks nobody" in said
    assert said.count("expected, ") == 2
    plain = write_table(tmp_path / "plain.csv", "task label", [("t1", "good")])
    refused(call("report", file, "--truth", plain, "-o", tmp_path / "r.html"), "a column question")
    other = write_table(tmp_path / "other.csv", "task question label", [("t1", "else", "x")])
    refused(call("report", file, "--gold", other, "-o", tmp_path / "r.html"), "'toxic'")


def test_a_state_of_several_questions_has_a_report(tmp_path: Path) -> None:
    file = write_table(tmp_path / "q.csv", "task worker question label", ask(KINDS))
    state = tmp_path / "s"
    assert call("run", file, "-q", "--state", state, "-o", tmp_path / "d.csv").code == 0
    page = report_of(tmp_path, state)
    assert "Question 3 of 3 · 360 labels on 60 tasks" in text_of(page)
    assert "q2-workers" in page.read_text("utf-8")
    one = write_table(tmp_path / "one.csv", "task worker label", [("t", "a", "x")])
    how = ("--state", state, "-o", tmp_path / "r.html")
    refused(call("report", one, *how), "labels of tone, toxic, topic")


def test_a_slide_of_several_questions_is_their_table(tmp_path: Path) -> None:
    from crowdstream.report.slide import QUESTIONS, slide_svg

    asked = {f"<b>{number}" + "x" * 99: ("yes", "no") for number in range(QUESTIONS + 2)}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in ask(asked, tasks=6)]
    drawn = slide_svg(cs.make_report(rows))
    assert "<b>" not in drawn
    assert drawn.count("&lt;b&gt;") == QUESTIONS - 1 + drawn.count("Worst is")
    assert "… and 3 questions more" in drawn
    report = cs.make_report([row for row in rows if row["question"] < "<b>12"])
    report.save(tmp_path / "slide.png")
    assert (tmp_path / "slide.png").read_bytes().startswith(b"\x89PNG")


def test_on_a_scale_the_distance_from_the_truth_is_told_in_steps(tmp_path: Path) -> None:
    rows = [(task, who, said) for task, who, _, said in ask({"": "12345"}, error=0.4)]
    file = write_table(tmp_path / "stars.csv", "image rater stars", rows)
    run = call("run", file, "--ordinal", "--json").report
    said = text_of(report_of(tmp_path, file, "--ordinal"))
    steps = f"{run['expected_steps']:.2f} steps"
    assert f"decisions are expected to be {steps} from the truth on average" in said
    assert f"Expected distance from the truth {steps}" in said
    assert "5 steps of a scale" in said
    assert "leans to score sure" in said
    truth = write_table(
        tmp_path / "t.csv", "image label", [(f"t{k}", 1 + k % 5) for k in range(60)]
    )
    known = call("run", file, "--ordinal", "--truth", truth, "--json").report
    said = text_of(report_of(tmp_path, file, "--ordinal", "--truth", truth))
    assert steps_words(known["mean_distance"]) + " from the truth on average" in said


def test_choices_are_told_as_sets_and_doubts_by_choice(tmp_path: Path) -> None:
    draw = random.Random(3)
    animals, rows, truths = ("cat", "dog", "cow"), [], []
    for task in range(60):
        true = [name for name in animals if draw.random() < 0.5] or ["cat"]
        truths.append((f"t{task}", "|".join(reversed(true))))
        for worker in "abcde":
            chosen = [name for name in animals if (name in true) != (draw.random() < 0.15)]
            rows.append((f"t{task}", worker, "|".join(chosen or ["cat"])))
    file = write_table(tmp_path / "c.csv", "item rater labels", rows)
    run = call("run", file, "--choices", "--json").report
    page = report_of(tmp_path, file, "--choices")
    said = text_of(page)
    wrong = share_words(msgspec.convert(run["expected_errors"], WrongDecisions), 60)
    assert f"{wrong} of the sets are expected not to be exactly right" in said
    assert "300 labels on 60 tasks from 5 workers; 3 choices" in said
    assert "Independent votes per label" not in said
    assert "together" not in sections(page)
    assert f"task: choice leans to sure labels needs {run['doubtful'][0]['task']} " in said
    truth = write_table(tmp_path / "t.csv", "item label", truths)
    scored = call("run", file, "--choices", "--truth", truth, "--json").report
    said = text_of(report_of(tmp_path, file, "--choices", "--truth", truth))
    assert f"{percent(scored['error_rate'])} of the sets are not exactly right" in said
    assert "measured on 60 tasks whose truth is known" in said
    gold = write_table(tmp_path / "g.csv", "item label", truths[:20])
    taught = report_of(tmp_path, file, "--choices", "--gold", gold, "--truth", truth)
    assert "measured on 40 tasks whose truth is known" in text_of(taught)


def test_who_contradicts_itself_or_does_not_answer_is_named(tmp_path: Path) -> None:
    draw, rows = random.Random(4), []
    for task in range(120):
        truth = ("pass", "fail")[task % 3 == 0]
        for judge in ("steady", "moody", "shy", "plain"):
            for epoch in range(3):
                wrong = draw.random() < (0.25 if judge == "moody" else 0.05)
                said = ("fail" if truth == "pass" else "pass") if wrong else truth
                if judge == "shy" and truth == "fail" and task % 2:
                    said = ""
                rows.append((task, judge, epoch, said))
    file = write_table(tmp_path / "r.csv", "item judge run verdict", rows)
    run = call("run", file, "--json").report
    page = report_of(tmp_path, file)
    said = text_of(page)
    rate = percent(run["flip_rates"]["moody"]["rate"])
    assert f"moody contradicts itself on {rate} of the 120 tasks it was asked again." in said
    assert "remarks contradicts itself no answer" in said  # columns of the numbers of workers
    share = percent(run["missing"]["shy"])
    first = said.partition("How often each worker errs")[0]
    assert f"shy gave no answer on {share} of its tasks, and on " in first
    assert [name for name in sections(page) if name in ("repeats", "missing")] == [
        "repeats",
        "missing",
    ]
    assert text_of(page).count("not answered") == 2  # a heading, and the class that shy leaves out


# From Python --------------------------------------------------------------------------------


def test_a_report_is_saved_by_its_extension_and_shown_in_a_notebook(tmp_path: Path) -> None:
    report = cs.make_report(ROWS[:200], title="<b>")
    report.save(tmp_path / "r.html")
    assert "<h1>&lt;b&gt;</h1>" in (tmp_path / "r.html").read_text("utf-8")
    assert report._repr_html_().startswith('<iframe title="report" srcdoc="&lt;!DOCTYPE html')
    with pytest.raises(cs.InputError, match=r"\.html"):
        report.save(tmp_path / "r.doc")


def test_a_panel_whose_truth_is_known_is_told_what_its_joint_errors_cost() -> None:
    """As `cs.effective_judges` has it; crowds whose workers hardly meet are told nothing of it."""
    made = simulate_dependent("tricky", 9, 400, seed=3)
    joint = cs.effective_judges(made.labels(), made.truths())
    assert joint.effective is not None
    page = cs.make_report(made.labels(), truth=made.truths()).html
    worth = f"9 workers on 400 tasks of known truth are worth {with_interval(joint.effective, 1)}"
    assert worth in page
    assert "if the same workers erred independently, it would be on " in page
    assert percent(joint.accuracy_if_independent) in page
    sparse = cs.simulate(200, 400, p=0.2, per_task=3, seed=1)
    page = cs.make_report(sparse.labels(), truth=sparse.truths()).html
    assert "erred independently" not in page


def test_a_stream_has_a_report() -> None:
    stream = cs.Stream(cs.monitor(cs.Adaptive()))
    stream.observe_many(ROWS)
    assert "<h2>How often each worker errs</h2>" in cs.make_report(stream).html


def test_questions_of_a_table_are_told_each_by_itself() -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in ask(KINDS, tasks=20)]
    truth = pl.DataFrame({"task": ["t0", "t1"], "question": ["tone"] * 2, "label": ["good", "bad"]})
    report = cs.make_report(rows, truth=truth)
    assert list(report.questions) == list(KINDS)
    found = {name: each.measured for name, each in report.questions.items()}
    assert found["tone"] is not None
    assert found["tone"].tasks == 2
    assert found["toxic"] is None
    with pytest.raises(cs.InputError, match="question column"):
        cs.make_report(rows, truth={"t0": "good"})
    with pytest.raises(cs.InputError, match="of other questions"):
        cs.make_report(rows, gold=truth.with_columns(question=pl.lit("else")))
    learnt = cs.make_report(cs.fit_questions(rows))
    assert [found.from_state for found in learnt.questions.values()] == [True] * 3
    wide = {"task": [], "worker": [], "tone": [], "toxic": []}  # type: dict[str, list[str]]
    for task in range(12):
        for worker in "abc":
            said = (f"t{task}", worker, "good" if task % 2 else "bad", "yes" if task % 3 else "no")
            for column, value in zip(wide.values(), said, strict=True):
                column.append(value)
    several = cs.make_report(pl.DataFrame(wide), label=["tone", "toxic"])
    assert list(several.questions) == ["tone", "toxic"]


def test_truths_of_no_task_and_no_labels_are_refused() -> None:
    with pytest.raises(cs.InputError, match="truth"):
        cs.make_report(ROWS[:20], truth={"nowhere": "x"})
    with pytest.raises(cs.InputError, match="at least one label"):
        cs.make_report([])


@pytest.mark.parametrize("draw", [cs.charts.trends, cs.charts.agreement])
def test_a_chart_that_needs_monitors_says_so(draw: object) -> None:
    crowd = cs.Adaptive().fit(ROWS)
    with pytest.raises(cs.InputError, match=r"cs\.monitor\(crowd\)"):
        draw(crowd)  # type: ignore[operator]


def test_charts_of_nothing_are_refused() -> None:
    with pytest.raises(cs.InputError, match="error rates that are known"):
        cs.charts.workers(cs.Adaptive())
    with pytest.raises(cs.InputError, match="an estimator or a stream"):
        cs.charts.workers(ROWS)  # type: ignore[arg-type]
