"""What monitors know, on the command line: intervals, families, alarms, difficulty, charts."""

from __future__ import annotations

import html
import json
import random
import re
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

from crowdstream.cli.output import write_table
from crowdstream.cli.summary import ranked, workers_table
from crowdstream.plain_text import chart_names
from crowdstream.wording import error_words, flag_words, has_flag
from tests.cli.tool import Row, call, csv_of, jsonl_of, labels, refused

ROWS = labels(200)
MONITORED = ("families", "effective_votes", "alarms", "hardest")


def crowd(
    tasks: int, *, turn: int | None = None, copy: bool = False, everyone: bool = False
) -> str:
    """Eight who all answer; from a task on the first guesses, or most do; the second may copy it.

    In random order: a stream judges a label by those before it, so not who is always the first.
    """
    draw = random.Random(5)
    rows: list[Row] = []
    for number in range(tasks):
        truth = draw.choice("xy")
        said: list[str] = []
        for who in range(8):
            worse = turn is not None and number >= turn and (everyone or who == 0)
            # Two stay good, or nobody could say that the others turned.
            error = 0.5 if worse and who < 6 else 0.3 if copy and who < 2 else 0.1
            wrong = draw.random() < error
            said.append("xy".replace(truth, "") if wrong else truth)
        if copy:
            said[1] = said[0]
        order = draw.sample(range(8), 8)
        rows += [(f"t{number}", f"w{who}", said[who]) for who in order]
    return csv_of(rows).decode()


@pytest.fixture
def turned(tmp_path: Path) -> Path:
    path = tmp_path / "turned.csv"
    path.write_text(crowd(600, turn=300))
    return path


def state_of(path: Path, *args: str) -> Path:
    state = path.with_suffix(".state")
    state.unlink(missing_ok=True)
    assert call("run", path, "-q", "--in-order", "--state", state, *args).code == 0
    return state


# Forgetting by itself -----------------------------------------------------------------------


def test_a_memory_decides_otherwise_than_all_that_was_learnt(turned: Path) -> None:
    said = {call("run", turned, "-q", "--online", *args).out for args in [(), ("--memory", "50")]}
    assert len(said) == 2


@pytest.mark.parametrize("command", ["run", "stream"])
@pytest.mark.parametrize("method", ["agreement", "centred", "adaptive"])
def test_who_asks_to_forget_by_itself_is_told_that_it_does(
    label_file: Path, command: str, method: str
) -> None:
    files = (label_file,) if command == "run" else ()
    result = call(command, *files, "--memory", "auto", "--method", method)
    refused(result, "no --memory: adaptive finds out by itself who changes", "auto")


@pytest.mark.parametrize("command", ["run", "stream"])
def test_what_is_no_number_to_remember_is_refused(label_file: Path, command: str) -> None:
    files = (label_file,) if command == "run" else ()
    refused(call(command, *files, "--memory", "long"), "a number of tasks, found 'long'")


# Families -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["f.csv", "f.tsv", "f.jsonl", "f.parquet"])
def test_families_are_declared_in_any_kind_of_file(label_file: Path, name: str) -> None:
    path = label_file.with_name(name)
    table = pl.DataFrame({"Annotator": ["w0", "w1", "w5"], "family": ["a", "a", "b"]})
    if name.endswith("parquet"):
        table.write_parquet(path)
    elif name.endswith("jsonl"):
        table.write_ndjson(path)
    else:
        table.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
    report = call("run", label_file, "--json", "--families", path).report
    assert [sorted(family) for family in report["families"]] == [["w0", "w1"]]
    assert report["warnings"] == []


def test_a_stream_takes_families_and_keeps_to_them(label_file: Path) -> None:
    path, state = label_file.with_name("f.csv"), label_file.with_name("s")
    path.write_text("worker,family\nw0,a\nw1,a\n")
    args = ("stream", "-q", "--max-labels", "5", "--state", state)
    half = len(ROWS) // 2
    one = call(*args, "--families", path, stdin=jsonl_of(ROWS[:half]))
    two = call(*args, "--families", path, stdin=jsonl_of(ROWS[half:]))
    whole = call("stream", "-q", "--max-labels", "5", "--families", path, stdin=jsonl_of(ROWS))
    assert one.out + two.out == whole.out
    refused(call(*args, stdin=b""), str(state), "a state of Adaptive")


def test_workers_of_a_family_who_never_answered_are_reported(label_file: Path) -> None:
    path = label_file.with_name("f.csv")
    path.write_text("worker,family\nw0,a\nnobody,a\n")
    warnings = call("run", label_file, "--json", "--families", path).report["warnings"]
    assert warnings == ["1 worker of --families without labels here"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("name,group\nw0,a\n", "expected columns worker, family, found name, group"),
        ("worker,family\nw0,a\nw0,b\n", "one family per worker, found several of 'w0'"),
        ("worker,family\nw0,a\nw1,\n", "row 2, column 'family': expected a value"),
        ("", "f.csv"),
    ],
)
@pytest.mark.parametrize("command", ["run", "stream"])
def test_bad_families_are_refused(label_file: Path, command: str, data: str, words: str) -> None:
    path = label_file.with_name("f.csv")
    path.write_text(data)
    files = (label_file,) if command == "run" else ()
    refused(call(command, *files, "--families", path), words)


@pytest.mark.parametrize("command", ["run", "stream"])
def test_families_are_for_adaptive(label_file: Path, command: str) -> None:
    files = (label_file,) if command == "run" else ()
    result = call(command, *files, "--families", "f.csv", "--method", "centred")
    refused(result, "--families needs --method adaptive; it cannot be combined with centred")


# Level and costs ----------------------------------------------------------------------------


def test_a_higher_level_is_a_wider_interval(label_file: Path) -> None:
    widths = []
    for level in ("0.8", "0.99"):
        workers = label_file.with_name("p.csv")
        assert call("run", label_file, "-q", "--workers", workers, "--level", level).code == 0
        found = pl.read_csv(workers)
        result = call("workers", state_of(label_file), "-q", "--level", level)
        assert result.out == workers.read_text()
        widths.append((found["error_high"] - found["error_low"]).to_numpy())
    assert (widths[0] < widths[1]).all()


def test_costs_change_the_quality_and_nothing_else(label_file: Path) -> None:
    costs = label_file.with_name("costs.csv")
    costs.write_text("class,taken_for,cost\nx,y,9\nx,z,9\n")
    state = state_of(label_file)
    plain_table = pl.read_csv(call("workers", state, "-q").out.encode())
    result = call("workers", state, "-q", "--costs", costs)
    workers = label_file.with_name("p.csv")
    assert call("run", label_file, "-q", "--workers", workers, "--costs", costs).code == 0
    assert result.out == workers.read_text()
    dear = pl.read_csv(result.out.encode())
    assert dear.drop("quality").equals(plain_table.drop("quality"))
    assert not dear["quality"].equals(plain_table["quality"])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("class,cost\nx,1\n", "expected columns class, taken_for, cost, found class, cost"),
        ("class,taken_for,cost\nx,y,dear\n", "'x' taken for 'y': expected a number from 0"),
        ("class,taken_for,cost\nx,y,-1\n", "a number from 0, found '-1'"),
        ("class,taken_for,cost\nx,y,nan\n", "a number from 0"),
        ("class,taken_for,cost\nx,y,1\nx,y,2\n", "expected one cost, found 1 and 2"),
        ("class,taken_for,cost\nx,q,1\n", "classes that were seen, found 'q'"),
    ],
)
def test_bad_costs_are_refused(label_file: Path, data: str, words: str) -> None:
    costs = label_file.with_name("costs.csv")
    costs.write_text(data)
    for more in (("-q",), ("--json",), ("-q", "--workers", label_file.with_name("p.csv"))):
        target = label_file.with_name("d.csv")
        refused(call("run", label_file, "-o", target, "--costs", costs, *more), words)
        assert not target.exists()
    refused(call("workers", state_of(label_file), "--costs", costs), words)


@pytest.mark.parametrize("level", ["0", "1", "nan", "95"])
def test_a_level_is_between_a_half_and_one(label_file: Path, level: str) -> None:
    refused(call("run", label_file, "--level", level), "--level")
    refused(call("workers", label_file, "--level", level), "--level")


# What a run tells ---------------------------------------------------------------------------


@pytest.mark.parametrize("window", [(), ("--window", "9"), ("--online",)])
def test_the_hardest_tasks_are_those_of_the_table(
    label_file: Path, window: tuple[str, ...]
) -> None:
    target = label_file.with_name("d.jsonl")
    hardest = call("run", label_file, "--json", "-o", target, *window).report["hardest"]
    decided = set(pl.read_ndjson(target)["task"])
    assert len(hardest) == 5
    assert {task["task"] for task in hardest} <= decided
    found = [task["difficulty"] for task in hardest]
    assert found == sorted(found, reverse=True)
    assert all(0 < value < 1 for value in found)


def test_copies_are_a_family_and_worth_less(tmp_path: Path) -> None:
    reports = []
    for copy in (False, True):
        path = tmp_path / "l.csv"
        path.write_text(crowd(600, copy=copy))
        reports.append(call("run", path, "--json").report)
    assert [list(map(sorted, report["families"])) for report in reports] == [[], [["w0", "w1"]]]
    assert reports[1]["effective_votes"] < reports[0]["effective_votes"] <= 8
    result = call("run", tmp_path / "l.csv").err
    assert "copy one another: " + ", ".join(reports[1]["copies"][0]) + "\n" in result
    assert reports[1]["copies"] == reports[1]["families"]
    assert [report["suspects"] for report in reports] == [[], []]
    only = call("run", tmp_path / "l.csv", "--json", "--copies", "report").report
    assert only["copies"] == reports[1]["copies"]
    refused(call("run", tmp_path / "l.csv", "--copies", "drop"), "--copies: expected")
    worth = f"{reports[1]['effective_votes']:.1f}"
    assert f"8.0 labels per task are worth at most {worth} independent ones" in result


def test_who_changes_is_reported(turned: Path) -> None:
    result = call("run", turned, "--in-order", "-o", turned.with_name("d.csv")).err
    assert "alarm: w0 got worse, errors " in result
    assert "most workers" not in result
    report = call("run", turned, "--in-order", "--json").report
    assert report["alarms"] >= 1
    assert report["changes"][-1]["worker"] == "w0"
    assert report["changes"][-1]["before"] < report["changes"][-1]["after"]


def test_everyone_is_reported_apart(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(crowd(900, turn=450, everyone=True))
    result = call("run", path, "--in-order", "-o", tmp_path / "d.csv").err
    assert "alarm: most workers got worse at once, around task " in result


def test_a_screen_of_workers_shows_intervals_and_flags(label_file: Path) -> None:
    state = state_of(label_file)
    workers = pl.read_csv(call("workers", state, "-q").out.encode())
    shown = call("workers", state, tty=True).out
    for row in workers.iter_rows(named=True):
        words = error_words(row["error_rate"], row["error_low"], row["error_high"])
        line = next(line for line in shown.splitlines() if line.startswith(row["worker"]))
        assert words is not None
        assert words in line
        assert flag_words((row["flags"] or "").split(";")) in line


@pytest.mark.parametrize("method", ["agreement", "centred", "adaptive"])
def test_all_that_weigh_votes_are_monitored(label_file: Path, method: str) -> None:
    workers = label_file.with_name("p.csv")
    args = ("run", label_file, "--json", "--in-order", "--method", method)
    report = call(*args, "--workers", workers).report
    assert None not in [report[name] for name in MONITORED]
    assert pl.read_csv(workers)["error_low"].null_count() == 0


def test_majority_is_never_monitored(label_file: Path) -> None:
    workers = label_file.with_name("p.csv")
    report = call("run", label_file, "--json", "--method", "majority", "--workers", workers).report
    assert {report[name] for name in MONITORED} == {None}
    assert pl.read_csv(workers)["error_low"].null_count() == 8


def test_nothing_to_decide_is_nothing_to_tell(label_file: Path) -> None:
    label_file.write_text("task,worker,label\n")
    report = call("run", label_file, "--in-order", "--json").report
    assert [report[name] for name in MONITORED] == [[], None, 0, []]
    assert call("run", label_file).code == 0


# What a state tells -------------------------------------------------------------------------


def test_a_state_tells_its_pairs(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(crowd(300, copy=True))
    found = pl.read_csv(call("workers", state_of(path), "--pairs", "-q").out.encode())
    assert found.row(0, named=True)["duplicate"]
    assert {found["one"][0], found["other"][0]} == {"w0", "w1"}
    assert found.height == 28


def test_a_state_tells_its_alarms_and_trends(turned: Path) -> None:
    state, target = state_of(turned), turned.with_name("a.jsonl")
    assert call("workers", state, "--alarms", "-o", target).code == 0
    alarms = [json.loads(line) for line in target.read_text().splitlines()]
    assert ("w0", "worse") in {(alarm["worker"], alarm["direction"]) for alarm in alarms}
    assert not any(alarm["pending"] for alarm in alarms)
    trends = pl.read_csv(call("workers", state, "--trends", "-q").out.encode())
    assert set(trends["worker"]) == {f"w{k}" for k in range(8)}
    first = trends.filter(pl.col("worker") == "w0").sort("tasks_seen")["error_rate"]
    assert first[0] < 0.25 < first[-1]


def test_a_crowd_without_alarms_has_a_table_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(crowd(50))
    result = call("workers", state_of(path), "--alarms", "-q")
    columns = "tasks_seen,worker,direction,before,after,evidence,answers,everyone,pending\n"
    assert result == (0, columns, "")


def test_a_change_that_is_not_confirmed_yet_is_shown_as_pending(tmp_path: Path) -> None:
    path, target = tmp_path / "l.csv", tmp_path / "a.csv"
    path.write_text(crowd(315, turn=300))
    state = state_of(path)
    assert call("workers", state, "--alarms", "-q", "-o", target).code == 0
    found = pl.read_csv(target).select("worker", "direction", "pending")
    assert found.rows() == [("w0", "worse", True)]
    assert "alarm" not in call("run", path, "--in-order", "-o", tmp_path / "d.csv").err


def test_a_state_tells_what_can_be_known(label_file: Path) -> None:
    result = call("workers", state_of(label_file), "--identifiability", "-q", "-o", "-")
    row = pl.read_csv(result.out.encode()).row(0, named=True)
    assert (row["ok"], row["groups"], row["in_largest"]) == (True, 1, 8)
    apart = label_file.with_name("apart.csv")
    apart.write_bytes(csv_of(ROWS + [(f"a{t}", f"a{w}", s) for t, w, s in ROWS]))
    result = call("workers", state_of(apart), "--identifiability", "-q")
    assert pl.read_csv(result.out.encode())["groups"].to_list() == [2]


@pytest.mark.parametrize("table", ["--pairs", "--alarms", "--trends", "--identifiability"])
def test_a_state_without_monitors_says_so(label_file: Path, table: str) -> None:
    state = state_of(label_file, "--method", "majority")
    refused(call("workers", state, table), str(state), "a state saved with monitors")


def test_one_table_at_a_time(label_file: Path) -> None:
    result = call("workers", state_of(label_file), "--pairs", "--trends")
    refused(result, "one table at a time, found --pairs --trends")


# Charts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c.html", "c.png", "c.svg"])
@pytest.mark.parametrize("what", [(), ("--trends",)])
def test_workers_are_drawn(turned: Path, name: str, what: tuple[str, ...]) -> None:
    pytest.importorskip("altair")
    target = turned.with_name(name)
    result = call("workers", state_of(turned), "--chart", target, *what)
    assert (result.code, result.out) == (0, "")
    starts = {"c.png": b"\x89PNG", "c.svg": b"<svg", "c.html": b"<!DOCTYPE html>"}
    assert target.read_bytes().lstrip().startswith(starts[name])
    if name == "c.svg":
        said = target.read_text()
        assert (">alarm<" in said) == bool(what)
        assert "Error rates of 8 workers" in said
        assert "95 % intervals" in said
        assert "NaN" not in said
        if what:  # every worker's line has points to go through
            drawn = re.findall(r'class="mark-line[^>]*><path[^>]*? d="([^"]*)"', said)
            assert len(drawn) == 8
            assert all(path.count("L") > 1 for path in drawn)


@pytest.mark.parametrize("what", [(), ("--trends",)])
def test_a_chart_of_many_says_whom_it_shows(label_file: Path, what: tuple[str, ...]) -> None:
    pytest.importorskip("altair")
    label_file.write_bytes(csv_of(labels(400, workers=70)))
    target = label_file.with_name("c.svg")
    assert call("workers", state_of(label_file), "--chart", target, *what).code == 0
    shown = "12 of 70 workers" if what else "the 60 most active of 70 workers"
    assert shown in target.read_text()


def test_a_chart_and_its_table_are_written_together(label_file: Path) -> None:
    pytest.importorskip("altair")
    chart, table = label_file.with_name("c.svg"), label_file.with_name("p.csv")
    assert call("workers", state_of(label_file), "--chart", chart, "-o", table).code == 0
    assert chart.exists()
    assert pl.read_csv(table).height == 8


def test_charts_that_cannot_be_drawn_are_refused(label_file: Path) -> None:
    pytest.importorskip("altair")
    state, folder = state_of(label_file), label_file.parent
    refused(call("workers", state, "--chart", folder / "c.gif"), ".html .png .svg")
    refused(call("workers", state, "--chart", folder / "no" / "c.png"), "a folder that exists")
    refused(call("workers", state, "--pairs", "--chart", folder / "c.png"), "combined with --pairs")
    label_file.write_bytes(csv_of([("t", "a", "x")]))
    refused(
        call("workers", state_of(label_file), "--chart", folder / "c.png"),
        "--chart needs error rates",
    )
    assert not list(folder.glob("c.*"))


def test_without_the_extra_a_chart_says_which_to_install(label_file: Path) -> None:
    state = state_of(label_file)
    with mock.patch("importlib.util.find_spec", return_value=None):
        result = call("workers", state, "--chart", "c.png")
    refused(result, "this needs altair: pip install 'crowdstream[report]'")


# What a stream tells ------------------------------------------------------------------------


def test_a_stream_tells_each_alarm_once_and_counts_them(turned: Path) -> None:
    lines = turned.read_bytes().splitlines(keepends=True)
    args = ("stream", "--max-labels", "8", "--settle", "0.999")
    whole = call(*args, stdin=b"".join(lines)).err.splitlines()
    result = [line for line in whole if line.startswith("alarm: ")]
    assert any(line.startswith("alarm: w0 got worse, errors ") for line in result)
    assert len(set(result)) == len(result)
    assert f", {len(result)} alarm" in whole[-1]
    # Gone on from a state, what rang before is not result again.
    cut, state = 1 + 8 * 400, ("--state", turned.with_name("s"))
    parts = [
        call(*args, *state, stdin=b"".join(part)).err.splitlines()
        for part in (lines[:cut], [lines[0], *lines[cut:]])
    ]
    said = [line for part in parts for line in part[:-1]]
    assert [line for line in said if not line.startswith(str(state[1]))] == result


def test_a_quiet_stream_tells_no_alarm(turned: Path) -> None:
    result = call("stream", "-q", "--max-labels", "8", stdin=turned.read_bytes())
    assert result.err == ""


def test_a_name_that_is_a_script_does_not_run_in_a_chart(label_file: Path) -> None:
    pytest.importorskip("altair")
    script, chart = "</script><script>alert(1)</script>", label_file.with_name("c.html")
    label_file.write_bytes(label_file.read_bytes().replace(b"w0", script.encode()))
    assert call("workers", state_of(label_file), "--chart", chart).code == 0
    page = chart.read_text("utf-8")
    assert "<script" not in page
    assert html.escape(script) in page


# Names that are not harmless ----------------------------------------------------------------

HOSTILE = "[red]x[/red]\x1b[31m<script>\u202e:smile:"
SHOWN = r"[red]x[/red]\x1b[31m<script>\u202e:smile:"


@pytest.fixture
def hostile(turned: Path) -> Path:
    """The crowd whose first worker turns, with a name that would be markup, colour and script."""
    turned.write_bytes(turned.read_bytes().replace(b"w0", HOSTILE.encode()))
    return turned


def test_names_are_shown_escaped_and_without_markup(hostile: Path) -> None:
    state = state_of(hostile)
    args = ("stream", "--max-labels", "8", "--settle", "0.999")
    assert SHOWN in call(*args, stdin=hostile.read_bytes()).err
    shown = call("run", hostile, "--in-order", "-o", hostile.with_name("d.csv")).err
    assert f"alarm: {SHOWN} got worse" in shown
    assert "\x1b" not in shown
    for name in ("", "--pairs", "--alarms", "--trends"):
        screen = call("workers", state, *filter(None, [name]), tty=True).out
        assert "[red]x[" in screen  # a long name is shortened in the middle
        assert "\x1b[31m<" not in screen
        assert "\u202e" not in screen


def test_a_name_in_a_message_is_escaped(label_file: Path) -> None:
    costs = label_file.with_name("costs.csv")
    costs.write_text(f"class,{HOSTILE}\nx,1\n")
    refused(call("run", label_file, "--costs", costs), SHOWN)


@pytest.mark.parametrize("what", [(), ("--trends",)])
def test_a_name_in_a_chart_is_escaped(hostile: Path, what: tuple[str, ...]) -> None:
    pytest.importorskip("altair")
    chart = hostile.with_name("c.svg")
    assert call("workers", state_of(hostile), "--chart", chart, *what).code == 0
    drawn = chart.read_text("utf-8")
    assert html.escape(chart_names([HOSTILE])[0]) in drawn
    assert "\x1b" not in drawn
    assert "\u202e" not in drawn


def test_names_in_files_are_not_changed(hostile: Path) -> None:
    target = hostile.with_name("w.csv")
    assert call("run", hostile, "-q", "--workers", target).code == 0
    assert HOSTILE in pl.read_csv(target)["worker"]


# Flags as codes -----------------------------------------------------------------------------


def test_codes_of_flags_are_shown_as_words_and_written_as_codes(tmp_path: Path) -> None:
    row = {"worker": "a", "answers": 9, "error_rate": 0.1, "error_low": 0.0, "error_high": 0.2}
    codes = ["at_chance", "separate_group"]
    table = pl.DataFrame([row | {"weight": 1.0, "quality": 0.0, "flags": codes}])
    assert has_flag(table, "at_chance").to_list() == [True]
    assert has_flag(table, "few_answers").to_list() == [False]
    assert ranked(table).height == 1
    cells = list(workers_table(table).columns[-1].cells)
    assert cells == ["at chance; separate group"]
    for name in ("w.csv", "w.tsv", "w.jsonl", "w.parquet"):
        write_table(table, str(tmp_path / name))
    assert pl.read_csv(tmp_path / "w.csv")["flags"].to_list() == [";".join(codes)]
    assert pl.read_csv(tmp_path / "w.tsv", separator="\t")["flags"].to_list() == [";".join(codes)]
    assert pl.read_ndjson(tmp_path / "w.jsonl")["flags"].to_list() == [codes]
    assert pl.read_parquet(tmp_path / "w.parquet")["flags"].to_list() == [codes]
