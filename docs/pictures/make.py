"""Make the pictures of the documentation: `python docs/pictures/make.py [live-page] [report]`.

live-page.png: starts the demo, waits until it has something to tell, and takes what Chromium shows.
report.png: the first screen of a report on a simulated crowd. Needs the extra dev and a Chromium of
the machine.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

HERE = Path(__file__).parent
SIZE = {"width": 1180, "height": 960}
LARGEST = 200_000
"""Bytes of a picture: a README is read on the way."""
PATIENCE = 120.0
"""Seconds that the demo has to tell of a worker who changed."""
CALM = 30.0
"""Seconds after that, for the first rush of labels to be over."""


CROWD = {
    "ada": 0.03, "ben": 0.12, "chloe": 0.08, "dora": 0.1, "eli": 0.15, "fatima": 0.2, "gus": 0.18,
    "hana": 0.25, "ivo": 0.3, "judge-large": 0.06, "judge-small": 0.33, "lou": 0.5,
}  # fmt: skip
"""Who is in the report, and how often each errs."""


def main() -> None:
    """Make those that are named, or all."""
    for name, make in {"live-page": live_page, "report": report}.items():
        if name in sys.argv[1:] or not sys.argv[1:]:
            make()


def report() -> None:
    """Simulate a crowd, make its report, take the first screen."""
    import crowdstream as cs

    rates = [0.7 - 0.04 * place for place in range(len(CROWD))]
    made = cs.simulate(len(CROWD), 1500, p=list(CROWD.values()), answer_rate=rates, seed=7)
    named = {f"w{place:02}": name for place, name in enumerate(CROWD)}
    labels, truths = (
        table.with_columns(
            task="post-" + table["task"].str.zfill(5),
            label=table["label"].replace({"0": "allow", "1": "remove"}),
        )
        for table in (made.labels(), made.truths())
    )
    labels = labels.with_columns(labels["worker"].replace_strict(named))
    told = cs.make_report(labels, gold=truths.head(100), price=0.04, title="Moderation, June")
    with tempfile.TemporaryDirectory() as folder:
        told.save(f"{folder}/report.html")
        with chromium() as browser:
            page = browser.new_page(viewport=SIZE, color_scheme="light")
            page.goto(f"file://{folder}/report.html")
            page.screenshot(path=HERE / "report.png")
    check_size(HERE / "report.png")


def live_page() -> None:
    """Start the demo, take the picture, stop the demo."""
    command = [sys.executable, "-c", "from crowdstream.cli import main; main()"]
    command += ["serve", "--demo", "--no-auth", "--port", "0"]
    demo = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert demo.stderr is not None
        found = re.search(r"at (http://\S+)/", demo.stderr.readline())
        if found is None:
            raise SystemExit("the demo did not start")
        take(found[1], HERE / "live-page.png")
    finally:
        demo.terminate()
        demo.wait()


def take(address: str, target: Path) -> None:
    """The overview as it is seen, once something has changed in it."""
    with chromium() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light", reduced_motion="reduce")
        deadline = time.monotonic() + PATIENCE
        while True:  # the first labels may take longer than a page waits
            page.goto(address)
            page.wait_for_timeout(3000)
            if page.locator(".note:not([hidden]) a").count() or time.monotonic() > deadline:
                break
        page.wait_for_timeout(CALM * 1000)
        page.goto(f"{address}/#/-/words")
        page.goto(f"{address}/#/demo")  # sorted anew
        page.wait_for_timeout(2500)
        page.screenshot(path=target, full_page=True)
    check_size(target)


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of the machine."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


def check_size(target: Path) -> None:
    """Refuse a picture that is too large."""
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target} is larger than {LARGEST:,} bytes")


if __name__ == "__main__":
    main()
