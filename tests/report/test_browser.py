"""A browser shows the page whole: every picture decoded, nothing said in the console, nothing wider than the screen."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from nonneg.evaluation.comparison import Comparison
from nonneg.report import write_comparison, write_report
from tests.finished_runs import finished_run
from tests.report.pages import columns_of, reported_run, with_features

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LONG = "a-class-with-a-long-name-and-no-space-to-break-it-at"

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no chromium or google-chrome on the path")

# What a copy of the page tells of itself; the page itself has no script.
LOOK = """
<script>
addEventListener("load", () => {
  for (const folded of document.querySelectorAll("details")) folded.open = true
  const uris = [...document.images].map(image => image.src)
  const broken = [...document.images].filter(image => !image.complete || !image.naturalWidth).length
  const pictures = [...document.querySelectorAll(".strip i")]
  const shown = pictures.filter(i => uris.includes(getComputedStyle(i).backgroundImage.slice(5, -2))).length
  const root = document.documentElement, wide = []
  for (const element of document.querySelectorAll("body *"))
    if (!element.closest(".wide, .command") && element.getBoundingClientRect().right > root.clientWidth + 1)
      wide.push(element.outerHTML.slice(0, 200))
  let content = root.scrollWidth
  for (const picture of pictures.slice(0, 10)) {
    picture.focus()  // which shows its words
    content = Math.max(content, root.scrollWidth)
  }
  const square = pictures[0].getBoundingClientRect()
  const loaded = performance.getEntriesByType("resource").map(entry => entry.name).filter(n => !n.startsWith("data:"))
  parent.postMessage(JSON.stringify({
    images: uris.length, broken, pictures: pictures.length, shown, loaded, wide, aspect: square.width / square.height,
    width: root.clientWidth, content, told: getComputedStyle(pictures[9], "::after").content,
    paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color,
  }), "*")
})
</script>
"""
FRAME = """<!doctype html><body style="margin:0"><pre id="found"></pre>
<iframe src="{}" style="width:{}px;height:3000px;border:0"></iframe>
<script>onmessage = message => {{ document.getElementById("found").textContent = message.data }}</script>
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Two runs beside one another, three of long names, one without labels, one of photographs."""
    folder = tmp_path_factory.mktemp("pages")
    plain = reported_run(folder / "cl", activation="identity")
    several = [reported_run(folder / f"{LONG}-{k}", classes=(LONG, "b", "c"), parts=None) for k in range(3)]
    photos = np.random.default_rng(0).integers(0, 256, (40, 96, 96, 3), np.uint8)
    np.savez(folder / "photos.npz", images=photos)
    finished_run(folder / "photos", f"npz:{folder / 'photos.npz'}", channels=3)
    z = np.abs(np.random.default_rng(1).normal(size=(40, 12)))
    with_features(folder / "photos", z, z)
    return {
        "pair": write_report(reported_run(folder / "ncl"), beside=plain),
        "several": write_comparison(folder / "several.html", Comparison(columns_of(*several), ())),
        "unlabelled": write_report(reported_run(folder / "bare", labelled=False, parts=None, log=None)),
        "photos": write_report(folder / "photos"),
    }


def browse(page, tmp_path, *words):
    made = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            *QUIET,
            f"--user-data-dir={tmp_path / 'profile'}",
            *words,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return made.stdout, made.stderr


def look(page, tmp_path, width, dark=False):
    """What the page tells of itself in a frame of this width."""
    source = page.read_text(encoding="utf-8")
    backgrounds = "".join(f'<img hidden src="{uri}">' for uri in re.findall(r"url\((data:.*?)\)", source))
    copy = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", source)
    copy = copy.replace("</body>", backgrounds + LOOK + "</body>")
    (tmp_path / "copy.html").write_text(copy, encoding="utf-8")
    frame = tmp_path / "frame.html"
    frame.write_text(FRAME.format("copy.html", width), encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    dom, _ = browse(frame, tmp_path, "--virtual-time-budget=2000", scheme, "--dump-dom")
    return json.loads(re.search(r'<pre id="found">(.+?)</pre>', dom)[1].replace("&amp;", "&"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("which", ["pair", "several", "unlabelled", "photos"])
def test_a_page_is_whole_at_any_width(pages, which, width, tmp_path):
    found = look(pages[which], tmp_path, width)
    assert found["width"] == width
    assert found["content"] <= width
    assert found["wide"] == []
    assert ": activation " in found["told"] or found["told"].startswith('"activation ')
    assert found["shown"] == found["pictures"] >= 120
    assert found["images"] >= 2
    assert (found["broken"], found["loaded"]) == (0, [])
    assert abs(found["aspect"] - 1) < 0.02


def test_it_is_dark_where_the_reader_wants_that(pages, tmp_path):
    def lightness(colour):
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    light, dark = (look(pages["pair"], tmp_path, 390, dark) for dark in (False, True))
    assert lightness(light["paper"]) > 700 > 100 > lightness(light["ink"])
    assert lightness(dark["paper"]) < 100 < 600 < lightness(dark["ink"])


@pytest.mark.parametrize("which", ["pair", "several"])
def test_the_page_itself_opens_without_a_word_in_the_console(pages, which, tmp_path):
    """With its own policy, which would tell of what it refused."""
    dom, said = browse(pages[which], tmp_path, "--enable-logging=stderr", "--v=0", "--dump-dom")
    assert "What the dimensions stand for" in dom
    assert [line for line in said.splitlines() if "CONSOLE" in line] == []


def test_a_word_in_the_console_would_be_seen(pages, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(pages["pair"].read_text(encoding="utf-8").replace("</body>", "<script>1</script></body>"))
    _, said = browse(page, tmp_path, "--enable-logging=stderr", "--v=0", "--dump-dom")
    assert any("CONSOLE" in line and "Content Security Policy" in line for line in said.splitlines())
