"""Pages opened in Chromium: what its scripts did, what it complained of, what can be seen of it."""

from __future__ import annotations

import html
import json
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium to open the page with")

DARK = "--blink-settings=preferredColorScheme=0"

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000")

WATCH = """<script>
const ran = [];
for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = () => ran.push(name);
addEventListener("error", event => ran.push("error " + (event.message || event.target.outerHTML)), true);
addEventListener("load", () => {
  const charts = [...document.querySelectorAll("figure svg")].map(svg => {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(text => text.textContent);
    const outside = texts.filter(text => {
      const b = text.getBoundingClientRect();
      return b.left < box.left - 1 || b.right > box.right + 1;
    });
    return {
      width: box.width,
      text: texts.map(text => text.textContent),
      outside: outside.map(text => text.textContent),
      smallest: Math.min(...texts.map(text => text.getBoundingClientRect().height)),
    };
  });
  const odd = document.querySelectorAll("figure script, figure image, figure img, [onload], [onerror]");
  const scripts = document.querySelectorAll("script").length - 1;
  const wide = document.documentElement.scrollWidth > innerWidth;
  const seen = {ran, charts, odd: odd.length, scripts, wide, ink: getComputedStyle(document.body).color,
    text: document.body.innerText};
  document.title = "seen " + encodeURIComponent(JSON.stringify(seen));
});
</script>"""  # noqa: E501
"""Put before everything else in a page: says in its title what happened in it."""


class Seen(NamedTuple):
    """What became of a page."""

    found: dict[str, Any]
    complaints: list[str]


def _run(*args: str) -> subprocess.CompletedProcess[str]:
    command = [str(CHROMIUM), *FLAGS, *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def open_page(page: Path, *flags: str, width: int = 1300) -> Seen:
    """Open a copy of the page that is watched."""
    from urllib.parse import unquote

    copy = page.with_name("watched.html")
    text = page.read_text("utf-8")
    head = "<meta charset=utf-8>"
    assert head in text
    copy.write_text(text.replace(head, head + WATCH, 1), "utf-8")
    size = f"--window-size={width},900"
    told = _run(*flags, size, "--enable-logging=stderr", "--dump-dom", copy.as_uri())
    title = re.search(r"<title>seen (.*?)</title>", told.stdout, re.S)
    assert title, told.stderr
    complaints = [line for line in told.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(unquote(html.unescape(title[1]))), complaints)


def picture(page: Path, *flags: str, size: tuple[int, int] = (900, 700)) -> NDArray[np.uint8]:
    """What is seen of a page: rows of pixels of red, green and blue."""
    target = page.with_name("seen.png")
    _run(*flags, f"--window-size={size[0]},{size[1]}", f"--screenshot={target}", page.as_uri())
    return read_png(target.read_bytes())


def read_png(data: bytes) -> NDArray[np.uint8]:
    """The pixels of a PNG of 8 bits a channel, without its opacity."""
    at, packed, header = 8, b"", b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    assert depth == 8
    channels = {2: 3, 6: 4}[colour]
    size, raw = width * channels, zlib.decompress(packed)
    rows = [bytes(size)]
    for at in range(0, len(raw), size + 1):
        rows.append(_unfilter(raw[at], raw[at + 1 : at + 1 + size], rows[-1], channels))
    found = np.frombuffer(b"".join(rows[1:]), np.uint8)
    return found.reshape(height, width, channels)[:, :, :3]


def _unfilter(kind: int, line: bytes, above: bytes, channels: int) -> bytes:
    """One row, from its differences to the pixels left of it and above (the five ways of PNG)."""
    found = bytearray(channels) + bytearray(line)
    before = bytes(channels) + above
    for x in range(channels, len(found)) if kind else ():
        left, up, corner = found[x - channels], before[x], before[x - channels]
        if kind == 4:
            far = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            guess = (left, up, corner)[far.index(min(far))]
        else:
            guess = (left, up, (left + up) // 2)[kind - 1]
        found[x] = (found[x] + guess) & 255
    return bytes(found[channels:])
