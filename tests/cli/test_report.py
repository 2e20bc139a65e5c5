"""`crowdstream report`: what is on the page, that it agrees with `run`, and what is refused.

What a browser makes of the page is tested with all others, in `tests/browser/test_pages.py`.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from unittest import mock

import pytest

import crowdstream as cs
from crowdstream.panel.report import with_interval
from crowdstream.plain_text import percent
from crowdstream.science.simulate import simulate_dependent
from tests.chromium import needs_chromium
from tests.cli.tool import Row, call, csv_of, gold_of, labels, left_in, refused
from tests.fuzzing import FIXTURES

pytest.importorskip("vl_convert", reason="the extra report is not installed")

ROWS = labels(200, seed=3)


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
    result = call("report", folder / "labels.csv", *how, "-o", target)
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
    assert "if the crowd's own confidence holds" in said
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
    assert call("report", export, "-q", "-o", target).code == 0
    said = text_of(target)
    assert "learnt from the gold in export.json: 1 task" in said
    assert str(export.parent) not in target.read_text("utf-8")
    assert "1 task of known truth: what they are worth together cannot be told" in said
    assert "no two judges" not in said


def test_a_state_tells_of_workers_and_says_what_is_missing(folder: Path) -> None:
    state, target = folder / "crowd.state", folder / "state.html"
    made = call("run", folder / "labels.csv", "-q", "--state", state, "-o", folder / "d.csv")
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
