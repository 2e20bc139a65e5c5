"""A real Chromium that opens pages, what they complained of, and what is seen of them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from tests.chromium import CHROMIUM
from tests.serve.running import Running

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
]
WATCH = """
window.seen = [];
for (const name of ["alert", "confirm", "prompt"]) window[name] = () => window.seen.push(name);
addEventListener("securitypolicyviolation",
  (event) => window.seen.push(`policy: ${event.violatedDirective} ${event.blockedURI}`));
"""
"""Runs before the page: notes what must not happen."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's own Chromium; nothing is downloaded."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


class Visit:
    """A page in a context of its own, and what it complained of."""

    def __init__(self, browser: Browser, server: Running, **options: Any) -> None:
        self.server = server
        given = {"viewport": {"width": 1280, "height": 900}, **options}
        self.context = browser.new_context(base_url=server.url, **given)
        self.context.add_init_script(WATCH)
        self.context.set_default_timeout(10_000)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def sign_in(self) -> Visit:
        """Get the cookie without the form."""
        answer = self.context.request.post("/login", data={"token": self.server.token})
        assert answer.status == 204, answer.text()
        return self

    def open(self, address: str, shows: str = "h1") -> Page:
        """Open an address of the page and wait until something is there."""
        self.page.goto("/" + address)
        self.page.evaluate("() => new Promise((done) => setTimeout(done))")  # the address is heard
        self.page.wait_for_selector("main[aria-busy=false]")
        self.page.wait_for_selector(shows, state="attached")
        return self.page

    def picture(self, name: str) -> None:
        """Keep what is seen."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)

    def close(self) -> list[str]:
        """Leave; returns all that should not have been."""
        seen: list[str] = self.page.evaluate("window.seen ?? []")
        self.context.close()
        return self.complaints + seen


@contextmanager
def visiting(browser: Browser, server: Running, **options: Any) -> Iterator[Visit]:
    """A visit that ends without complaints."""
    visit = Visit(browser, server, **options)
    try:
        yield visit
    except BaseException:
        visit.picture("failed")
        visit.context.close()
        raise
    assert visit.close() == []


class Ink(NamedTuple):
    """How much of a picture is not background: the share of its pixels, and different colours."""

    share: float
    colours: int


INK = """async (data) => {
  const bitmap = await createImageBitmap(await (await fetch(data)).blob());
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height), pen = canvas.getContext("2d");
  pen.drawImage(bitmap, 0, 0);
  const pixels = new Uint32Array(pen.getImageData(0, 0, bitmap.width, bitmap.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  return [1 - Math.max(...counts.values()) / pixels.length, counts.size];
}"""


def ink_of(blank: Page, picture: bytes) -> Ink:
    """Look at a picture (PNG) by means of an empty page."""
    data = "data:image/png;base64," + base64.b64encode(picture).decode()
    return Ink(*blank.evaluate(INK, data))


def texts(page: Page, selector: str) -> list[str]:
    """What is written in all elements that match."""
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def until(page: Page, holds: Callable[[], bool], seconds: float = 5.0) -> None:
    """Wait until something holds."""
    for _ in range(round(seconds / 0.05)):
        if holds():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come to hold")
