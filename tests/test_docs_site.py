"""The documentation site builds without network or warning, and every link leads somewhere.

The guide's commands print what it says they print.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

import pytest

from tests.cli.tool import SCRIPT

ROOT = Path(__file__).parents[1]
QUIET = os.environ | {"NO_MKDOCS_2_WARNING": "1"}


class Site(NamedTuple):
    """Where the site was built, and what was said while it was."""

    folder: Path
    said: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=QUIET, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Site(folder, done.stderr)


def test_nothing_is_warned_of(site: Site) -> None:
    warnings = [line for line in site.said.splitlines() if "WARNING" in line]
    assert warnings == []


class Reader(HTMLParser):
    """What a page loads, what it links to, and where one can link to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        if tag == "link" or "src" in found:
            self.loads.append(found.get("src") or found.get("href") or "")
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[Path, Reader]:
    return {page: Reader(page) for page in site.folder.rglob("*.html") if page.name != "404.html"}


def test_no_page_loads_anything_from_elsewhere(site: Site, pages: dict[Path, Reader]) -> None:
    assert len(pages) > 30
    for page, reader in pages.items():
        outside = [each for each in reader.loads if urlsplit(each).scheme not in ("", "data")]
        assert outside == [], page
    for style in site.folder.rglob("*.css"):
        assert not re.search(r"@import|url\([\"']?https?:", style.read_text("utf-8")), style


def inside(pages: dict[Path, Reader]) -> Iterator[tuple[Path, str, Path, str]]:
    """Page, link, and the file and the anchor that it leads to, of links within the site."""
    for page, reader in pages.items():
        for link in reader.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            yield page, link, target, unquote(parts.fragment)


def test_every_link_and_anchor_leads_somewhere(site: Site, pages: dict[Path, Reader]) -> None:
    count = 0
    for page, link, target, anchor in inside(pages):
        target = target / "index.html" if target.is_dir() else target
        assert target.is_file(), f"{page.name}: {link}"
        if anchor and target in pages:
            assert anchor in pages[target].anchors | {"top"}, f"{page.name}: {link}"
        count += 1
    assert count > 1000


def test_every_page_can_be_reached_from_home(site: Site, pages: dict[Path, Reader]) -> None:
    home = pages[site.folder / "index.html"]
    reached = {target for page, _, target, _ in inside({site.folder / "index.html": home})}
    assert set(pages) - reached - {site.folder / "index.html"} == set()


def links_in(page: Path) -> Iterator[tuple[str, str]]:
    """The links in a Markdown file as it is, outside of code."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not urlsplit(link).scheme:
            path, _, anchor = link.partition("#")
            yield path, anchor


def test_links_lead_somewhere_in_the_source_too() -> None:
    sources = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    assert len(sources) > 30
    for page in sources:
        for path, _ in links_in(page):
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.relative_to(ROOT)}: {path}"


def test_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    guide = (ROOT / "docs/guide.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```\n\n```text\n(.*?)```", guide, re.S)
    assert len(blocks) == 3
    for command, promised in blocks:
        program, *rest = shlex.split(command)
        assert program == "crowdstream"
        done = subprocess.run(
            [SCRIPT, *rest],
            cwd=tmp_path,
            env=QUIET | {"COLUMNS": "100"},
            capture_output=True,
            text=True,
            check=True,
        )
        printed = {line.strip() for line in done.stderr.splitlines()}
        assert [line for line in promised.splitlines() if line.strip() not in printed] == []
    rows = (tmp_path / "decisions.csv").read_text("utf-8").splitlines()[:4]
    assert "\n".join(rows) in guide
