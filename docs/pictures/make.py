"""Make live-page.png, the picture of the live page in the README: `python docs/pictures/make.py`.

Starts the demo, waits until it has something to tell, and takes what Chromium shows. Needs the
extra dev and a Chromium of the machine.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
SIZE = {"width": 1180, "height": 960}
LARGEST = 200_000
"""Bytes of a picture: a README is read on the way."""
PATIENCE = 120.0
"""Seconds that the demo has to tell of a worker who changed."""
CALM = 30.0
"""Seconds after that, for the first rush of labels to be over."""


def main() -> None:
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
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
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
        browser.close()
    if target.stat().st_size > LARGEST:
        raise SystemExit(f"{target} is larger than {LARGEST:,} bytes")


if __name__ == "__main__":
    main()
