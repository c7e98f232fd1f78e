"""The view in a real browser, by clicks and keys."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")

from sojourn import spec, store
from sojourn.browse import notes
from sojourn.browse.index import Index
from sojourn.plan import next_point
from sojourn.plan.rehearsal import imagine
from sojourn.testing_questions import PLANS
from sojourn.view import live
from sojourn.view.browser_testing import CHROMIUM, Browser
from sojourn.view.serving_testing import NAME, ROOT, Served, own_folders, serving, unpacked

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
STRANGE = '<img src=x onerror="document.body.dataset.ran=1">'
ENTER = 13


@dataclass(frozen=True)
class Looked:
    """A browser that shows the list of a view."""

    browser: Browser
    served: Served
    results: Path

    def at(self, path: str) -> str:
        return f"http://127.0.0.1:{self.served.port}{ROOT}{path}"


@pytest.fixture
def looked(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Looked]:
    own_folders(tmp_path, monkeypatch)
    results = unpacked(tmp_path)
    other = results / "other_study/m2/20260101T000000Z-0001"
    shutil.copytree(results / NAME, other)
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
    browser.wait("location.pathname.endsWith('/sides') && document.readyState === 'complete'")
    assert browser.run("document.querySelectorAll('.curves polyline').length") >= 2
    browser.click(".sides a")
    browser.wait("location.pathname.includes('/r/') && document.readyState === 'complete'")
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
    browser.wait("location.pathname.includes('/r/version_1') && document.readyState === 'complete'")


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
        assert browser.run(ROWS) >= 1, "numbers follow, too"
        record.finish()
    browser.wait("document.querySelector('#live').dataset.ended === 'yes'")
    assert "load this page again" in browser.run("document.querySelector('#live').innerText")
    assert browser.run("document.querySelector('#live .running')") is None


#: Lines of the tables of loads.
ROWS = "document.querySelectorAll('#live details tbody tr').length"


@dataclass(frozen=True)
class Growing:
    """A record that is measured while the browser shows it."""

    name: str
    add: Callable[[], None]


@contextmanager
def growing_in(looked: Looked) -> Iterator[Growing]:
    study = spec.load("max_load_memcached", profile="quick")
    with store.open(looked.results, study, machine="m", manifest={}) as record:

        def add() -> None:
            """One more run at a load; peaks come before the first one."""
            while True:
                point = next_point(study, record.outcomes(), PLANS)
                assert point is not None
                record.add(replace(imagine(point), folder=str(record.folder(point))))
                if point.offered_rps is not None:
                    return

        add()
        name = str(record.path.relative_to(looked.results.absolute()))
        looked.browser.open(looked.at(f"/r/{name}"))
        looked.browser.wait("document.querySelector('#live').dataset.views >= 1")
        yield Growing(name, add)


def test_what_is_focused_and_scrolled_stays_while_the_page_changes(looked: Looked) -> None:
    with growing_in(looked) as growing:
        browser = looked.browser
        browser.run("window.held = document.querySelector('#live td a'); held.focus()")
        browser.run("window.line = document.querySelector('#live [role=status]'); 1")
        seen = browser.run("document.querySelector('#live').dataset.views")
        growing.add()
        browser.wait(f"document.querySelector('#live').dataset.views > {seen}")
        assert browser.run("document.activeElement === held")
        assert browser.run("document.querySelector('#live [role=status]') === window.line")


def test_a_hidden_page_gives_its_connection_to_others(looked: Looked) -> None:
    with growing_in(looked) as growing:
        browser = looked.browser
        hide = "Object.defineProperty(document, 'hidden', {get: () => %s, configurable: true});"
        change = "document.dispatchEvent(new Event('visibilitychange'))"
        until(lambda: looked.served.following.pages == 1)
        browser.run(hide % "true" + change)
        until(lambda: looked.served.following.pages == 0)
        growing.add()
        browser.run(hide % "false" + change)
        count = len(list((looked.results / growing.name / "points").iterdir()))
        browser.wait(f"document.querySelector('#live').innerText.includes('{count} points')")
        assert looked.served.following.pages == 1


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + 60.0
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.05)


def test_a_page_that_is_not_followed_says_so_until_it_is(
    looked: Looked, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "document.querySelector('#live-state').textContent"
    with growing_in(looked) as growing:
        browser = looked.browser
        monkeypatch.setattr(live, "STREAMS_MOST", 0)
        browser.open(looked.at(f"/r/{growing.name}"))
        browser.wait(f"{text}.includes('other pages follow')")
        assert not browser.run("document.querySelector('#live .running').checkVisibility()")
        monkeypatch.setattr(live, "STREAMS_MOST", 4)
        browser.wait(f"{text} === ''")
        assert browser.run("document.querySelector('#live .running').checkVisibility()")


def test_a_page_says_that_the_view_was_ended(looked: Looked) -> None:
    browser = looked.browser
    with serving(looked.results) as other, growing_in(looked) as growing:
        browser.open(f"http://127.0.0.1:{other.port}{ROOT}/r/{growing.name}")
        browser.wait("document.querySelector('#live').dataset.views >= 1")
        other.end()
        browser.wait("document.querySelector('#live-state').textContent.includes('was ended')")
        assert not browser.run("document.querySelector('#live .running').checkVisibility()")
        browser.open(looked.at("/"))
    browser.faults.clear()  # the console reports the connection that was closed


def test_ticks_stay_over_searches_and_pages_and_can_be_undone(looked: Looked) -> None:
    browser = looked.browser
    browser.click(".records li:nth-child(1) input")
    browser.click("#q")
    browser.type("other")
    browser.wait("document.querySelectorAll('.records li').length === 1")
    ticked = "document.querySelector('#ticked').textContent"
    assert browser.run(ticked) == "1 of at most 8 records ticked, 1 of them not in this list"
    browser.click(".records li:nth-child(1) input")
    browser.open(looked.at("/?q=nothing"))
    assert browser.run(ticked).startswith("2 of at most 8 records ticked, 2 of them")
    browser.click("#compare button")
    browser.wait("location.pathname.endsWith('/sides') && document.readyState === 'complete'")
    assert browser.run("document.querySelectorAll('.sides li').length") == 2
    browser.open(looked.at("/"))
    assert browser.run("document.querySelectorAll('.records :checked').length") == 2
    browser.click("#untick")
    assert browser.run("document.querySelectorAll('.records :checked').length") == 0
    assert browser.run("document.querySelector('#untick').hidden")


def test_keys_of_one_letter_can_be_turned_off_and_arrows_scroll(looked: Looked) -> None:
    browser = looked.browser
    browser.press("x")  # no record has the focus: nothing happens
    browser.press("ArrowDown", 40)
    at = "document.activeElement?.closest('li')?.querySelector('input')?.value ?? ''"
    assert browser.run(at) == ""
    browser.click("#keys")
    browser.press("j")
    assert browser.run(at) == ""
    browser.open(looked.at("/"))
    assert not browser.run("document.querySelector('#keys').checked"), "it is remembered"
    browser.press("j")
    assert browser.run(at) == ""
    browser.click("#keys")
    browser.press("j")
    assert browser.run(at).startswith("version_1")


def test_a_note_that_changed_elsewhere_is_not_replaced(looked: Looked) -> None:
    browser = looked.browser
    browser.open(looked.at(f"/r/{NAME}"))
    browser.click("#note-text")
    browser.type("mine")
    browser.click("#note button")
    state = "document.querySelector('#note-state').textContent"
    browser.wait(f"{state} === 'saved'")
    browser.click("#note-text")
    browser.type(" again")
    browser.run("document.querySelector('#note-state').textContent = ''")
    browser.click("#note button")
    browser.wait(f"{state} === 'saved'")
    notes.keep(NAME, "another")
    browser.click("#note button")
    browser.wait(f"{state}.startsWith('not saved: the note was changed')")
    assert notes.load(NAME) == "another"
    browser.faults.clear()  # the console reports the status


def test_a_record_of_any_name_is_opened_and_compared_by_clicks(looked: Looked) -> None:
    odd = os.fsdecode(b"odd \xff") + "\u202e 50%41"
    shutil.copytree(looked.results / NAME, looked.results / odd / "m/20270101T000000Z-0001")
    Index(looked.results).whole()
    browser = looked.browser
    time.sleep(1.1)  # a younger look at the folder is not repeated
    browser.open(looked.at("/"))
    browser.wait("!document.querySelector('[data-pending]')")
    browser.click(".records li:nth-child(1) input")
    browser.click("#compare button")
    browser.wait("location.pathname.endsWith('/sides') && document.readyState === 'complete'")
    browser.click(".sides a")
    browser.wait("location.pathname.includes('/r/odd') && document.readyState === 'complete'")
    assert "\\udcff" in browser.run("document.querySelector('header').innerText")
