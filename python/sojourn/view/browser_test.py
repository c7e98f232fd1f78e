"""The view in a real browser, by clicks and keys."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs sojourn[view]")
pytest.importorskip("uvicorn", reason="needs sojourn[view]")

from sojourn import spec, store
from sojourn.browse import notes
from sojourn.browse.index import Index
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.testing_questions import PLANS
from sojourn.view.browser_testing import CHROMIUM, Browser
from sojourn.view.serving_testing import Served, serving

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
GOLDEN = Path(store.__file__).parent / "golden" / "record-1.tar.xz"
NAME = "version_1/m/20261123T031248Z-7d37"
STRANGE = '<img src=x onerror="document.body.dataset.ran=1">'
ENTER = 13


@dataclass(frozen=True)
class Looked:
    """A browser that shows the list of a view."""

    browser: Browser
    served: Served
    results: Path

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.served.port}{path}"


@pytest.fixture
def looked(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Looked]:
    for variable in ("XDG_CACHE_HOME", "XDG_DATA_HOME"):
        (tmp_path / variable).mkdir(mode=0o700)
        monkeypatch.setenv(variable, str(tmp_path / variable))
    results = tmp_path / "results"
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(results)  # noqa: S202 - our own; Python 3.11.2 knows no filters
    other = results / "other_study/m2/20260101T000000Z-0001"
    shutil.copytree(results / NAME, other)
    store.keep_answer(results / NAME, "holds", "12k/s at p99 ≤ 1 ms", "answered")
    store.keep_answer(other, "violated", STRANGE, STRANGE)
    Index(results).whole()
    profile = tmp_path_factory.mktemp("profile")
    with serving(results) as served, Browser(profile) as browser:
        browser.look(1440)
        browser.open(served.url)
        yield Looked(browser, served, results)
        assert browser.faults == []
        assert browser.run("document.body.dataset.ran") is None


def test_records_are_found_compared_and_read_by_clicks(looked: Looked) -> None:
    browser = looked.browser
    assert browser.run("document.querySelectorAll('.records li').length") == 2
    assert STRANGE in browser.run("document.body.innerText")
    browser.click("#q")
    browser.type("other")
    browser.wait("document.querySelectorAll('.records li').length === 1")
    assert browser.run("location.search") == "?q=other"
    browser.run("document.querySelector('#q').select()")
    browser.type("version_1")
    browser.wait("document.querySelector('.records a')?.textContent === 'version_1'")
    browser.click(".button")
    browser.wait("document.querySelectorAll('.records li').length === 2")
    for number in (1, 2):
        browser.click(f".records li:nth-child({number}) input")
    assert browser.run("document.querySelector('#ticked').textContent").startswith("2 of")
    browser.click("#compare button")
    browser.wait("location.pathname === '/sides' && document.readyState === 'complete'")
    assert browser.run("document.querySelectorAll('.curves polyline').length") >= 2
    browser.click(".sides a")
    browser.wait("location.pathname.startsWith('/r/') && document.readyState === 'complete'")
    browser.click("td a")
    browser.wait("location.pathname.endsWith('/runs') && document.readyState === 'complete'")
    assert "sojourn sql" in browser.run("document.body.innerText")


def test_the_list_is_used_by_keys_alone(looked: Looked) -> None:
    browser = looked.browser
    browser.press("j")
    browser.press("j")
    browser.press("x")
    ticked = browser.run("document.querySelector('.records :checked').value")
    assert ticked.startswith("other_study")
    browser.press("k")
    browser.press("/")
    assert browser.run("document.activeElement.id") == "q"
    browser.press("Escape", 27)
    browser.press("j")
    browser.press("Enter", ENTER)
    browser.wait(
        "location.pathname.startsWith('/r/version_1') && document.readyState === 'complete'"
    )


def test_a_note_is_saved_and_a_report_is_shown_in_its_frame(looked: Looked) -> None:
    browser = looked.browser
    browser.open(looked.at(f"/r/{NAME}"))
    browser.click("#note-text")
    browser.type("warm <b>machine</b>")
    browser.click("#note button")
    browser.wait("document.querySelector('#note-state').textContent === 'saved'")
    assert notes.load(NAME) == "warm <b>machine</b>"
    browser.click("details.report summary")
    browser.wait("document.querySelector('iframe').src.endsWith('/report')")
    assert browser.run("document.querySelector('iframe').contentDocument") is None, "sandboxed"


@pytest.mark.parametrize("width", [390, 900, 1440])
def test_every_page_fits_has_names_and_keeps_contrast_in_both_themes(
    looked: Looked, width: int
) -> None:
    browser = looked.browser
    for path in ("/", f"/r/{NAME}", f"/sides?r={NAME}&r=other_study/m2/20260101T000000Z-0001"):
        seen = []
        for is_dark in (False, True):
            browser.look(width, is_dark=is_dark)
            browser.open(looked.at(path))
            wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            assert browser.run(wide) <= 0, (path, width)
            seen.append(browser.run("getComputedStyle(document.body).backgroundColor"))
        assert seen[0] != seen[1]
        assert browser.run(NAMELESS) == []
        assert browser.run("document.querySelectorAll('main h1').length") == 1


#: What a screen reader would read without a name.
NAMELESS = """[...document.querySelectorAll("a, button, input, select, textarea, svg, iframe")]
  .filter((one) => !(one.getAttribute("aria-label") || one.getAttribute("title") ||
    one.textContent.trim() || one.labels?.length || one.getAttribute("aria-hidden")))
  .map((one) => one.outerHTML.slice(0, 80))"""


def test_a_running_study_fills_in_without_a_click(looked: Looked) -> None:
    browser = looked.browser
    study = spec.load("max_load_memcached", profile="quick")
    with store.open(looked.results, study, machine="m", manifest={}) as record:

        def measure() -> None:
            point = next_point(study, record.outcomes(), PLANS)
            assert point is not None
            record.add(replace(imagine(point), folder=str(record.folder(point))))

        measure()
        name = record.path.relative_to(looked.results.absolute())
        browser.open(looked.at(f"/r/{name}"))
        browser.wait("document.querySelector('#live').innerText.includes('1 point,')")
        for _ in range(6):
            measure()
        browser.wait("document.querySelector('#live').innerText.includes('7 points')")
        assert browser.run("document.querySelectorAll('#live .dot').length") >= 1
        record.finish()
    browser.wait("document.querySelector('#live').dataset.ended === 'yes'")
