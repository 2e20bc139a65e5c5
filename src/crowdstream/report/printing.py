"""The page on paper: PDF, printed by a Chromium or Chrome that the machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from crowdstream.errors import CrowdstreamError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)

PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
"""Places of browsers on macOS."""

PATIENCE = 120
"""Seconds that printing may take."""


def find_browser() -> str | None:
    """The first browser that can print, if there is one."""
    found = (shutil.which(name) for name in BROWSERS)
    return next(filter(None, (*found, *filter(os.path.exists, PLACES))), None)


def need_browser() -> str:
    """Return a browser's path, or raise an error that says which to install."""
    browser = find_browser()
    if browser is None:
        raise CrowdstreamError(
            "a PDF needs a Chromium or Chrome, and none is found: install one, or open the page in "
            "any browser and print it"
        )
    return browser


def print_page(page: str) -> bytes:
    """A page as PDF, on A4."""
    browser = need_browser()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_text(page, encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer"]
        command += [f"--user-data-dir={folder}/profile", f"--print-to-pdf={target}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # as root it runs no other way
            command.append("--no-sandbox")
        try:
            told = subprocess.run(
                [*command, source.as_uri()], capture_output=True, text=True, timeout=PATIENCE
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CrowdstreamError(f"{browser} did not print the page: {error}") from None
        if not target.exists():
            reason = told.stderr.strip().splitlines()[-1:] or [f"exit code {told.returncode}"]
            raise CrowdstreamError(f"{browser} did not print the page: {reason[0]}")
        return target.read_bytes()
