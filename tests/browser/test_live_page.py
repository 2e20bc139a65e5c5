"""The live page in a real Chromium: what is posted is seen, by everybody, and nothing else runs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chromium import CHROMIUM, needs_chromium
from tests.serve.running import Running, label, post, put, serving, start
from tests.serve.tools import annotation, label_studio

if CHROMIUM is None:
    pytest.skip("no Chromium to open the live page with", allow_module_level=True)
pytest.importorskip("playwright", reason="Playwright, which drives Chromium, is not installed")
pytest.importorskip("uvloop", reason="the extra serve is not installed")

from playwright.sync_api import Browser, Page, expect

from tests.browser.browsing import Visit, texts, until, visiting
from tests.browser.conftest import HOSTILE

pytestmark = needs_chromium

PAGE = 25


@pytest.fixture
def visit(browser: Browser, server: Running) -> Iterator[Visit]:
    with visiting(browser, server) as found:
        yield found.sign_in()


def test_labels_that_are_posted_appear_within_two_seconds(visit: Visit, server: Running) -> None:
    with server.http() as http:
        put(http, "new", max_labels=3)
        post(http, "new", [label("t0", "ann", "x"), label("t0", "bob", "x")])
        page = visit.open("#/new", ".tile .value")
        expect(page.get_by_role("link", name="ann")).to_be_visible()
        post(http, "new", [label(f"t{n}", worker, "x") for n in range(1, 10) for worker in "abc"])
        expect(page.locator(".tile .about").first).to_contain_text("of 10", timeout=2000)
        post(http, "new", [label("t-late", "a", "x"), label("t-late", "b", "y")])
        expect(page.get_by_role("link", name="t-late")).to_be_visible(timeout=4000)


def test_signing_in_with_a_wrong_token_a_right_one_and_out(
    browser: Browser, server: Running
) -> None:
    visit = Visit(browser, server)
    page = visit.open("#/crowd/workers", "form.login")
    visit.picture("login")
    page.get_by_label("Token").fill("cs_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not a token of this server")
    page.get_by_label("Token").fill(server.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Workers")).to_be_visible()
    cookies = {cookie["name"]: cookie for cookie in visit.context.cookies()}
    assert cookies["crowdstream_session"]["httpOnly"]
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()
    refused = "error: Failed to load resource: the server responded with a status of 401"
    assert [one for one in visit.close() if not one.startswith(refused)] == []


def test_a_token_in_the_address_signs_in_and_does_not_stay_there(
    browser: Browser, server: Running
) -> None:
    with visiting(browser, server) as visit:
        page = visit.open(f"#token={server.token}", ".tile")
        assert server.token not in page.url


def test_workers_are_paged_sorted_and_searched_and_back_works(visit: Visit) -> None:
    page = visit.open("#/crowd/workers")
    assert len(texts(page, "tbody .name")) == PAGE
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".pager")).to_contain_text("26 – 50 of 60")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".pager")).to_contain_text("51 – 60 of 60")
    page.get_by_role("button", name="Previous").click()
    expect(page.locator(".pager")).to_contain_text("26 – 50 of 60")
    page.go_back()
    expect(page.locator(".pager")).to_contain_text("51 – 60 of 60")
    page.get_by_role("button", name="worker", exact=True).click()
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("worker")
    expect(page.locator("tbody .name").first).to_have_text("w00")
    page.get_by_role("button", name="worker").click()
    expect(page.locator("tbody .name").first).to_have_text("w59")
    page.get_by_role("searchbox").fill("W1")
    expect(page.locator("tbody .name")).to_have_count(10)
    page.reload()
    expect(page.locator("tbody .name")).to_have_count(10)
    page.get_by_role("searchbox").fill("nobody at all")
    expect(page.locator("td.none")).to_contain_text("No worker's name contains")
    page.get_by_role("searchbox").fill("")
    page.locator("tbody .name").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("w59")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Workers")


def test_tasks_by_state_and_one_with_what_each_answer_added(visit: Visit) -> None:
    page = visit.open("#/crowd/tasks")
    page.get_by_role("button", name="settled").click()
    expect(page.locator("tbody .chip").first).to_have_text("settled")
    page.get_by_role("button", name="Next").click()
    expect(page.locator(".pager")).to_contain_text("26 – 50")
    page.get_by_role("button", name="all closed").click()
    page.get_by_role("searchbox").fill("t3")
    expect(page.locator("tbody .name").first).to_contain_text("t3")
    page = visit.open("#/crowd/tasks/t3", ".added")
    rows = page.locator("tbody tr")
    with visit.server.http() as http:
        votes = http.get("/v1/projects/crowd/tasks/t3").json()["labels"]
    assert rows.count() == len(votes)
    for row, vote in zip(rows.all(), votes, strict=True):
        expect(row).to_contain_text(vote["worker"])
        expect(row).to_contain_text(f"{abs(vote['added']):.2f}")
        against = "against" in (row.locator(".added .bar").get_attribute("class") or "")
        assert against == (vote["added"] < 0)


def test_a_long_class_leaves_the_other_columns_their_room(visit: Visit) -> None:
    page = visit.open("#/wordy", "td .class")
    table = page.locator(".scroll", has=page.locator("td .class"))
    assert table.evaluate("found => found.scrollWidth <= found.clientWidth")
    shown = page.locator("td .class")
    assert str(shown.get_attribute("title")).startswith("neither of them, nor neither")


def test_names_are_data_whatever_they_look_like(visit: Visit) -> None:
    page = visit.open("#/hostile/workers")
    assert sorted(texts(page, "tbody .name")) == sorted(HOSTILE)
    for name in HOSTILE:
        page = visit.open("#/hostile/workers")
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        expect(page.get_by_role("heading", name="Latest answers")).to_be_visible()
    page = visit.open("#/hostile/tasks?state=open")
    page.get_by_role("link", name=HOSTILE[0], exact=True).click()
    expect(page.get_by_role("link", name=HOSTILE[1], exact=True)).to_be_visible()
    visit.open("#/hostile", ".tile")
    visit.picture("hostile")
    assert page.locator("main script, main img, main [onload], main [onerror]").count() == 0
    assert page.evaluate("window.seen") == []


def test_rows_stay_where_they_are_while_values_move(visit: Visit, server: Running) -> None:
    with server.http() as http:
        put(http, "still", max_labels=3)
        rows = [label(f"t{n}", w, "x") for n in range(12) for w in ("ann", "bob", "cem")]
        post(http, "still", [*rows, label("a", "ann", "x"), label("b", "ann", "x")])
        page = visit.open("#/still/workers", "tbody .name")
        before = texts(page, "tbody .name")
        assert before[0] == "ann"
        post(http, "still", [label(f"late{n}", "cem", "x") for n in range(9)])
        answers = page.get_by_role("row").filter(has_text="cem").locator("td").first
        expect(answers).to_have_text("21", timeout=3000)
        expect(page.get_by_role("button", name="sort again")).to_be_visible()
        assert texts(page, "tbody .name") == before
        page.get_by_role("button", name="sort again").click()
        assert texts(page, "tbody .name")[0] == "cem"


def test_a_lost_connection_is_told_and_found_again(browser: Browser, tmp_path: Path) -> None:
    running = start(tmp_path / "data")
    with running.http() as http:
        put(http, "lost", max_labels=3)
        post(http, "lost", [label(f"t{n}", w, "x") for n in range(5) for w in ("ann", "bob")])
    visit = Visit(browser, running).sign_in()
    page = visit.open("#/lost", ".tile .value")
    expect(page.locator(".live")).to_contain_text("live")
    value = page.locator(".tile .value").first.inner_text()
    running.stop()
    expect(page.locator("#lost")).to_contain_text("No connection since", timeout=5000)
    assert page.locator("body.stale").count() == 1
    assert page.locator(".tile .value").first.inner_text() == value
    visit.picture("lost-connection")
    running = start(tmp_path / "data", port=running.port)
    try:
        expect(page.locator("#lost")).to_be_hidden(timeout=10_000)
        with running.http() as http:
            post(http, "lost", [label("u", "ann", "x"), label("u", "bob", "x")])
        expect(page.locator(".tile .about").first).to_contain_text("of 6", timeout=4000)
    finally:
        running.stop()
    assert [one for one in visit.close() if "Failed to load" not in one and "ERR_" not in one] == []


def test_what_an_empty_server_and_an_empty_project_say_to_run_works(
    browser: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path / "data") as running, visiting(browser, running) as visit:
        visit.sign_in()
        _run_what_is_shown(visit, "")
        with running.http() as http:
            put(http, "empty")
        _run_what_is_shown(visit, "empty")


def _run_what_is_shown(visit: Visit, project: str) -> None:
    page = visit.open(f"#/{project}", "pre")
    visit.picture(f"empty-{project or 'server'}")
    shown = texts(page, "pre")
    assert shown[0].startswith("TOKEN=")
    told = subprocess.run(
        ["bash", "-ec", shown[1]], env=os.environ | {"TOKEN": visit.server.token},
        capture_output=True, text=True, timeout=20, check=True,
    )  # fmt: skip
    assert '"decisions"' in told.stdout, told
    expect(page.locator(".tile .about").first).to_contain_text("of 2", timeout=6000)


def test_labels_by_a_hook_appear_and_so_does_what_was_refused(
    browser: Browser, server: Running
) -> None:
    """Annotation tools tell nobody that they were refused: the page does, as text."""
    with server.http() as http, visiting(browser, server) as visit:
        put(http, "hooked", settle=None)
        page = visit.sign_in().open("#/hooked", "pre")
        both = annotation(1, 1, 10, **{"<img src=x onerror=alert(1)>": "good", "mood": "bad"})
        assert label_studio(http, "hooked", "ANNOTATION_CREATED", both).status_code == 422
        expect(page.get_by_text("1 request of annotation tools refused.")).to_be_visible()
        expect(page.get_by_text("which question? There are '<img src=x")).to_be_visible()
        told = label_studio(http, "hooked", "ANNOTATION_CREATED", both, question="mood")
        assert told.json()["labels"] == 1
        expect(page.get_by_role("heading", name="Whom to trust")).to_be_visible()
        expect(page.get_by_text("1 request of annotation tools refused.")).to_be_visible()


def test_light_and_dark_by_the_system_and_by_choice(browser: Browser, server: Running) -> None:
    with visiting(browser, server, color_scheme="dark") as visit:
        page = visit.sign_in().open("#/crowd", ".tile")
        dark = _ground(page)
        visit.picture("overview-dark")
        page.get_by_role("button", name="Use light colours").click()
        light = _ground(page)
        assert sum(light) > 600 > 200 > sum(dark)
        page.reload()
        page.wait_for_selector(".tile")
        assert _ground(page) == light


def _ground(page: Page) -> list[int]:
    text: str = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in text.removeprefix("rgb(").removesuffix(")").split(",")]


def test_a_keyboard_is_enough(visit: Visit) -> None:
    page = visit.open("#/crowd/workers")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.get_by_role("button", name="error rate").focus()
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort]")).to_contain_text("error rate")
    until(page, lambda: page.evaluate("document.activeElement.textContent").startswith("error"))
    page = visit.open("#/crowd", ".tile")
    page.get_by_role("button", name="Independent votes per label").focus()
    expect(page.get_by_role("tooltip")).to_contain_text("independent votes")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_be_hidden()


def test_files_can_be_taken_away(visit: Visit) -> None:
    page = visit.open("#/crowd/export", ".files")
    for what in ("decisions", "workers"):
        for name in ("CSV", "NDJSON", "Parquet"):
            with page.expect_download() as taken:
                page.get_by_role("link", name=f"{name} of {what}").click()
            assert taken.value.suggested_filename == f"crowd-{what}.{name.lower()}"
            assert taken.value.path().stat().st_size > 100
    with page.expect_download() as taken:
        page.get_by_role("link", name="CSV of probabilities").click()
    header = taken.value.path().read_text().splitlines()[0].split(",")
    assert header[-1] != "at", "a column per class after those of the decisions"


def test_what_is_not_there_says_so(browser: Browser, server: Running) -> None:
    visit = Visit(browser, server).sign_in()
    for address in ("#/nothing", "#/crowd/workers/nobody", "#/crowd/nowhere"):
        page = visit.open(address)
        expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    assert [one for one in visit.close() if "404" not in one] == []
