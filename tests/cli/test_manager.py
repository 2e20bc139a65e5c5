"""The summary answers what a manager asks, in plain words and 80 columns, and so does --json."""

from __future__ import annotations

import random
import re
from pathlib import Path

import polars as pl
import pytest

from crowdstream.cli.terminal import shorten_name
from crowdstream.statements.advice import REASONS as CODES
from crowdstream.wording import REASONS
from tests.cli.tool import Row, call, csv_of, gold_of, labels, refused
from tests.real import DATA, needs_data

ROWS = labels(300, a_task=5, workers=12)
LONG = "annotator-with-a-very-long-name-{}@crowd.example.org"
MOST_LINES = 46
"""Lines of a summary: about a screen."""


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def plain(text: str) -> list[str]:
    """The lines without their colours."""
    return re.sub("\x1b\\[[0-9;]*m", "", text).splitlines()


def fits(result_text: str) -> None:
    wide = [line for line in plain(result_text) if len(line) > 80]
    assert wide == []


def spaced(text: str) -> str:
    return " ".join(" ".join(plain(text)).split())


def wide_names(rows: list[Row], classes: int = 3) -> list[Row]:
    """The same with long names of tasks, workers and many classes."""
    draw = random.Random(0)
    return [
        (f"https://example.org/images/{task}/original.jpeg", LONG.format(who), f"{said}-class-{c}")
        for task, who, said in rows
        for c in [draw.randrange(classes)]
    ]


# The summary ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["plain", "long names", "many classes", "two workers", "one label"]
)
@pytest.mark.parametrize("price", [(), ("--price", "0.05")])
def test_a_summary_fits_in_80_columns(tmp_path: Path, kind: str, price: tuple[str, ...]) -> None:
    rows = {
        "plain": ROWS,
        "long names": wide_names(ROWS, 1),
        "many classes": wide_names(ROWS, 40),
        "two workers": [(task, who, said) for task, who, said in ROWS if who in ("w0", "w1")],
        "one label": ROWS[:1],
    }[kind]
    path = tmp_path / "labels.csv"
    path.write_bytes(csv_of(rows))
    result = call("run", path, *price, tty=True)
    assert result.code == 0
    fits(result.out + result.err)
    assert len(plain(result.err)) <= MOST_LINES


@needs_data
@pytest.mark.parametrize("name", ["rte", "bird", "temp", "llm_relevance", "trec"])
def test_a_summary_of_a_real_crowd_is_one_screen(name: str) -> None:
    result = call("run", f"{DATA}/{name}/labels.csv", "--price", "0.02", tty=True)
    fits(result.out + result.err)
    assert len(plain(result.err)) <= MOST_LINES
    for question in (
        "How good are the decisions?",
        "Which tasks need more labels?",
        "Whom to pay, coach or drop?",
        "What did it cost?",
    ):
        assert question in result.err


def test_the_summary_says_what_json_says(label_file: Path) -> None:
    shown = spaced(call("run", label_file, "-o", label_file.with_name("d.csv")).err)
    report = call("run", label_file, "--json").report
    share = 100 * report["settled"] / report["tasks"]
    assert f"{share:.1f} % of tasks settled (confidence 0.95 or more, 2 labels or more)" in shown
    assert f"{report['unsettled']} tasks are not settled (--resend FILE writes them)" in shown
    assert report["settled"] + report["unsettled"] == report["tasks"]
    for task in report["doubtful"]:
        more = "expert" if task["more_labels"] is None else task["more_labels"]
        row = f"{task['task']} {task['label']} {task['confidence']:.3f} {task['votes']} {more}"
        assert row in shown
    for name, count in report["advice"].items():
        assert not count or f"{count} to {name}" in shown
    assert sum(report["advice"].values()) == report["workers"]
    for who in report["advised"]:
        low, high = (round(100 * who[name]) for name in ("error_low", "error_high"))
        assert f"({low}–{high}) {who['weight']:.2f} {who['advice']}: " in shown


def test_numbers_have_one_format(label_file: Path, gold: Path) -> None:
    filled = label_file.with_name("some.csv")
    filled.write_bytes(b"\n".join(gold.read_bytes().splitlines()[:60]) + b"\n")
    for args in (
        ("run", label_file, "--truth", gold, "--price", "0.1", "-o", label_file.with_name("d.csv")),
        ("gold", "check", label_file, filled),
        ("savings", label_file, "--orders", "1"),
    ):
        result = call(*args)
        assert result.code == 0
        assert re.findall(r"\d%", result.out + result.err) == []
        assert re.search(r"\d %", result.out + result.err)


def test_every_code_has_its_words() -> None:
    assert set(REASONS) == set(CODES)


def test_what_intervals_rest_on_is_said_on_screen_and_in_the_table(label_file: Path) -> None:
    state, table = label_file.with_name("s"), label_file.with_name("w.csv")
    result = call("run", label_file, "-o", label_file.with_name("d.csv"), "--state", state)
    assert "Intervals rest on agreement between workers alone" in spaced(result.err)
    screen = call("workers", state, tty=True)
    assert "Intervals rest on agreement between workers alone" in spaced(screen.out)
    fits(screen.out)
    call("workers", state, "-o", table)
    assert set(pl.read_csv(table)["evidence"]) <= {"agreement", "agreement-with-doubt"}
    assert call("run", label_file, "--json").report["evidence"] in {
        "agreement",
        "agreement-with-doubt",
    }


# Options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["again.csv", "again.parquet", "again.jsonl"])
@pytest.mark.parametrize("window", [(), ("--window", "50")])
def test_resend_writes_the_unsettled_tasks(
    label_file: Path, name: str, window: tuple[str, ...]
) -> None:
    path, out = label_file.with_name(name), label_file.with_name("d.csv")
    assert call("run", label_file, "-o", out, "--resend", path, *window).code == 0
    if name.endswith("csv"):
        found = pl.read_csv(path)
    else:
        found = pl.read_parquet(path) if name.endswith("parquet") else pl.read_ndjson(path)
    decided = pl.read_csv(out)
    assert sorted(found["task"]) == sorted(decided.filter(~pl.col("settled"))["task"])
    assert found["confidence"].is_sorted()
    assert found.columns == ["task", "label", "confidence", "votes", "more_labels", "needs"]
    assert found.filter(pl.col("needs") == "labels")["more_labels"].min() >= 1  # type: ignore[operator]


def test_what_is_to_be_sent_again_can_be_read_again(label_file: Path) -> None:
    """The file is a list of tasks, such as gold plan's: its label column is a decision."""
    path = label_file.with_name("again.csv")
    call("run", label_file, "-q", "-o", label_file.with_name("d.csv"), "--resend", path)
    result = call("run", label_file, "--truth", path, "-o", label_file.with_name("d.csv"))
    assert result.code == 0
    assert "error rate 0.0000" in result.err


def test_resend_is_refused_where_it_cannot_be_written(label_file: Path) -> None:
    refused(call("run", label_file, "--resend", "again.txt"), "--resend", "a name that ends in")
    refused(call("run", label_file, "--resend", label_file), "--resend", "a file of its own")


def test_nothing_to_send_again_is_an_empty_file(tmp_path: Path) -> None:
    path, again = tmp_path / "l.csv", tmp_path / "again.csv"
    path.write_bytes(csv_of([(f"t{t}", f"w{w}", "xy"[t % 2]) for t in range(60) for w in range(8)]))
    result = call("run", path, "-o", tmp_path / "d.csv", "--resend", again)
    assert result.code == 0
    assert "Which tasks need more labels?" not in result.err
    assert pl.read_csv(again).height == 0


def test_min_labels_says_what_is_settled(label_file: Path) -> None:
    settled = {}
    for least in ("1", "2", "5", "6"):
        args = ("run", label_file, "--json", "--min-labels", least)
        settled[least] = call(*args).report["settled"]
    assert settled["1"] == settled["2"] == settled["5"] > 0  # every task has five labels
    assert settled["6"] == 0
    refused(call("run", label_file, "--min-labels", "0"), "--min-labels", "found 0")


def test_a_single_label_settles_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    rows = [(f"t{t}", f"w{w}", "xy"[t % 2]) for t in range(200) for w in range(5)]
    path.write_bytes(csv_of([*rows, ("alone", "w0", "x")]))
    for least, expected in (("1", True), ("2", False)):
        out = call("run", path, "-q", "--settle", "0.8", "--min-labels", least).out.encode()
        assert pl.read_csv(out).filter(task="alone")["settled"].item() is expected


def test_a_price_adds_what_it_cost_and_what_was_enough(label_file: Path) -> None:
    report = call("run", label_file, "--json", "--price", "0.05").report
    cost = report["cost"]
    assert cost["total"] == pytest.approx(0.05 * report["labels"])
    assert cost["per_decision"] == pytest.approx(cost["total"] / report["tasks"])
    assert cost["enough"] == pytest.approx(cost["total"] * (1 - cost["saved"]))
    assert 0 <= cost["saved"] < 1
    assert cost["replayed_tasks"] == report["tasks"]
    assert "cost" not in call("run", label_file, "--json").report
    shown = spaced(call("run", label_file, "--price", "0.05").err)
    assert f"{cost['total']:,.2f} at 0.05 a label" in shown
    assert f"{cost['enough']:,.2f} ({100 * cost['saved']:.1f} % less) had each task" in shown
    refused(call("run", label_file, "--price", "-1"), "--price")


def test_what_was_enough_is_what_stopping_takes(tmp_path: Path) -> None:
    """One answer in ten is wrong: two or three settle a task, of twelve that were bought."""
    draw, path = random.Random(0), tmp_path / "l.csv"
    rows = [
        (f"t{t}", f"w{w}", "xy"[(t + (draw.random() < 0.1)) % 2])
        for t in range(400)
        for w in range(12)
    ]
    path.write_bytes(csv_of(rows))
    cost = call("run", path, "--json", "--price", "1").report["cost"]
    stream = call("stream", "-q", "--max-labels", "12", stdin=csv_of(rows))
    taken = sum(decision["votes"] for decision in stream.lines) / len(rows)
    assert 1 - cost["saved"] == pytest.approx(taken, abs=0.05)  # in another order
    assert cost["other_decisions"] < 0.1


def test_what_was_enough_goes_by_what_the_state_knows(tmp_path: Path) -> None:
    """Two tasks make nobody known, and newcomers settle nothing: alone, every label is needed."""
    rows, state = labels(200), tmp_path / "s"
    first, second = tmp_path / "may.csv", tmp_path / "june.csv"
    first.write_bytes(csv_of(rows[:-10]))
    second.write_bytes(csv_of((task, f"w{k % 5}", "x") for k, (task, *_) in enumerate(rows[-10:])))
    alone = call("run", second, "--json", "--price", "1").report["cost"]
    assert alone["enough"] == alone["total"] == 10
    call("run", first, "-q", "--state", state)
    after = call("run", second, "--json", "--price", "1", "--state", state).report["cost"]
    assert after["total"] == 10
    assert after["enough"] < 10


def test_medians_are_not_compared_with_what_a_stream_decides(tmp_path: Path) -> None:
    path = tmp_path / "stars.csv"
    path.write_bytes(csv_of((task, who, str("xyz".index(x))) for task, who, x in labels(60)))
    args = ("run", path, "--price", "1", "--ordinal")
    cost = call(*args, "--json").report["cost"]
    assert (cost["replayed_tasks"], cost["other_decisions"]) == (60, None)
    shown = spaced(call(*args, "-o", tmp_path / "d.csv").err)
    assert "been stopped once it was settled" in shown
    assert "would differ" not in shown


def test_a_price_is_tried_on_a_sample_of_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(csv_of(labels(6000, a_task=5, workers=12)))
    cost = call("run", path, "--json", "--price", "1").report["cost"]
    assert cost["replayed_tasks"] == 4000  # of five labels each
    assert cost["total"] == 30_000
    shown = spaced(call("run", path, "--price", "1", "-o", tmp_path / "d.csv").err)
    assert "tried on 4,000 of the tasks" in shown


def test_workers_have_advice_in_files(label_file: Path) -> None:
    table, state = label_file.with_name("w.csv"), label_file.with_name("s")
    call("run", label_file, "-q", "--workers", table, "--state", state)
    found = pl.read_csv(table)
    assert found.columns[-3:] == ["advice", "reason", "on_class"]
    report = call("run", label_file, "--json").report
    for who in report["advised"]:
        row = found.row(by_predicate=pl.col("worker") == who["worker"], named=True)
        assert (row["advice"], row["reason"]) == (who["advice"], who["reason"])
    again = pl.read_csv(call("workers", state, "-q").out.encode())
    assert again["advice"].to_list() == found["advice"].to_list()


def test_fewer_settled_because_of_gold_is_said(tmp_path: Path) -> None:
    """A crowd that is sure and wrong together: gold lowers its confidence."""
    draw = random.Random(1)
    rows: list[Row] = []
    for t in range(400):
        truth = draw.choice("xy")
        fooled = draw.random() < 0.3
        for w in range(9):
            wrong = draw.random() < (0.97 if fooled else 0.03)
            rows.append((f"t{t}{truth}", f"w{w}", "xy".replace(truth, "") if wrong else truth))
    path, gold = tmp_path / "l.csv", tmp_path / "gold.csv"
    path.write_bytes(csv_of(rows))
    gold.write_bytes(b"\n".join(gold_of(rows).splitlines()[:101]) + b"\n")
    out = ("-o", tmp_path / "d.csv")
    before = call("run", path, "--json").report
    after = call("run", path, "--json", "--gold", gold)
    assert after.report["settled"] < before["settled"] - 40
    assert any("gold bears out less confidence" in note for note in after.report["warnings"])
    shown = call("run", path, "--gold", gold, *out)
    assert "gold bears out less confidence" in spaced(shown.err)
    assert "site-packages" not in shown.err  # notes, not Python's warnings
    assert ".py:" not in shown.err


# Other commands -------------------------------------------------------------------------------


def test_a_blind_plan_has_a_whole_title(label_file: Path) -> None:
    result = call("gold", "plan", label_file, "--blind", tty=True)
    assert "first tasks" in [line.strip() for line in plain(result.err)]
    fits(result.err)


def test_error_rates_that_move_most_come_first(label_file: Path, gold: Path) -> None:
    found = call("gold", "check", label_file, gold, "--json").report["workers"]
    moved = [abs(who["after"] - who["before"]) for who in found]
    assert moved == sorted(moved, reverse=True)


def test_other_commands_fit_in_80_columns(tmp_path: Path) -> None:
    path, gold, state = tmp_path / "l.csv", tmp_path / "g.csv", tmp_path / "s"
    rows = wide_names(ROWS, 1)
    path.write_bytes(csv_of(rows))
    truth = {(task, f"{task.split('/')[-2][-1]}-class-0") for task, _, _ in rows}
    gold.write_bytes(csv_of(sorted(truth)[:50], "task,label"))
    assert call("run", path, "-q", "--in-order", "--state", state).code == 0
    for args in (
        ("workers", state),
        ("workers", state, "--pairs"),
        ("workers", state, "--trends"),
        ("workers", state, "--alarms"),
        ("gold", "plan", path),
        ("gold", "check", path, gold),
        ("savings", path, "--orders", "1"),
    ):
        result = call(*args, tty=True)
        assert result.code == 0, result
        fits(result.out + result.err)


def test_a_long_name_is_shortened_in_the_middle() -> None:
    names = [shorten_name(LONG.format(number), 18) for number in (1, 2)]
    assert all(len(name) == 18 and "…" in name for name in names)
    assert shorten_name("w1", 18) == "w1"
    assert shorten_name("a\x1bb" * 20, 9).count("\x1b") == 0
