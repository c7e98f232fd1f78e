import base64
import hashlib
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sojourn.findings.findings import Findings
from sojourn.models.replicate import ids
from sojourn.report import figures, headline, index, page, replicas, testing, tiles
from sojourn.report.draw.palette import THEMES
from sojourn.report.pack import unpacked
from sojourn.report.parts import using
from sojourn.testing_questions import parts

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def figures_in(html: str) -> dict[str, Any]:
    """What a page's figures are drawn from, by their names."""
    packed = re.search(r'<script type="text/plain" id="figures">(.*?)</script>', html)
    assert packed
    drawn = unpacked(packed[1])
    assert isinstance(drawn, dict)
    return drawn


def built(findings: Findings) -> str:
    of_services = {s.service: figures.of_service(s) for s in findings.services}
    return page.html(findings, of_services=of_services, of_study=figures.of_study(findings))


class Parsed(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.style = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)
        self.text += " "  # cells of a table are words apart

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" in self.open:
            self.style += data
        elif "script" not in self.open:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def html() -> str:
    """Made before `conftest.py` shows the questions, which it does for each test."""
    with using(parts()):
        return built(testing.findings())


def test_the_answer_comes_first_then_the_services_then_the_rest(html: str) -> None:
    text = Parsed(html).text
    findings = testing.findings()
    parts = [
        headline.of(findings),
        *(tiles.of_service(service).said for service in findings.services),
        "p99 sojourn time against offered load",
        findings.answer,
        *(service.answer for service in findings.services),
        "Self-check against theory",
        "The papers' figures beside ours",
        "What adds noise",
        findings.command,
        findings.study_file,
        "How to read this",
    ]
    body = text[text.index("Skip to the answer") :]  # the title says the headline too
    places = [body.index(part) for part in parts]
    assert places == sorted(places)


def test_verdicts_and_reasons_are_words(html: str) -> None:
    text = Parsed(html).text
    for word in ("✓ holds", "✗ violated", "? unknown", testing.LATE):
        assert word in re.sub(r"\s+", " ", text), word
    assert "5,230 requests, needs 5,661" in text  # where the number would be


def test_papers_stand_beside_ours(html: str) -> None:
    text = re.sub(r"\s+", " ", Parsed(html).text)
    assert "≈70 % 68–71 % Chen et al. (C7)" in text
    assert "≈80 % 40–90 % Chen et al. (C7)" in text


def test_nothing_is_fetched(html: str) -> None:
    parsed = Parsed(html)
    for tag, attrs in parsed.tags:
        assert not attrs.get("src"), tag
        assert tag not in {"iframe", "object", "embed", "img"}
        href = attrs.get("href")
        assert href is None or href.startswith("#") or href == "data:,", tag
    assert "url(" not in parsed.style
    assert "@import" not in parsed.style


def test_the_page_stays_small(html: str) -> None:
    assert len(html.encode()) < 4_000_000


def test_every_figure_has_words_and_a_table(html: str) -> None:
    parsed = Parsed(html)
    charts = [a for a in parsed.of("div") if a.get("class") == "chart"]
    assert len(charts) == 18
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)
    assert sum(a.get("class") == "numbers" for a in parsed.of("details")) == len(charts)
    assert set(figures_in(html)) == {chart["data-figure"] for chart in charts}


def test_ids_are_unique_and_links_have_targets(html: str) -> None:
    parsed = Parsed(html)
    ids = [attrs["id"] for _, attrs in parsed.tags if attrs.get("id")]
    assert len(ids) == len(set(ids))
    links = [str(a["href"])[1:] for a in parsed.of("a")]
    assert links
    assert set(links) <= set(ids)


def test_text_from_a_study_stays_text() -> None:
    evil = "</script><script>alert(1)</script><b>"
    base = testing.findings()
    service = replace(base.services[0], service=evil, answer=evil)
    html = built(replace(base, answer=evil, command=evil, study_file=evil, services=(service,)))
    assert "<script>alert(1)" not in html
    assert Parsed(html).text.count(evil) >= 4
    assert len(Parsed(html).of("script")) == 3


@pytest.mark.parametrize("case", testing.degenerate())
def test_little_or_nothing_found_still_makes_a_page(case: str) -> None:
    result = testing.degenerate()[case]
    text = Parsed(built(result)).text
    assert result.answer in text
    assert result.command in text


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_marks_stand_out_from_the_background(theme: str) -> None:
    """WCAG 2.2: 4.5:1 for text, 3:1 for marks."""
    colours = THEMES[theme]
    for name, colour in colours.items():
        if name in {"paper", "panel", "grid"}:
            continue
        is_text = name in {"ink", "muted", "holds", "violated", "unknown", "link", "qos"}
        for ground in ("paper", "panel") if is_text else ("paper",):
            assert contrast(colour, colours[ground]) >= (4.5 if is_text else 3.0), (name, ground)


def contrast(a: str, b: str) -> float:
    lighter, darker = sorted((luminance(a), luminance(b)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def rendered(file: Path) -> Parsed:
    """What a browser makes of a page."""
    # fmt: off
    dom = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-quic", f"--user-data-dir={file.parent / 'profile'}",
            "--virtual-time-budget=600000", "--dump-dom", file.as_uri(),
        ],
        capture_output=True, text=True, check=True,
    ).stdout
    # fmt: on
    return Parsed(dom)


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_draws_every_figure(html: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    # What is folded is drawn when it is opened; here all is open from the start.
    file.write_text(html.replace("<details", "<details open"), "utf-8")
    parsed = rendered(file)
    assert parsed.of("html")[0].get("data-drawn") == "all"
    assert not [attrs for _, attrs in parsed.tags if attrs.get("class") == "failed"]
    assert len(parsed.of("svg")) == 18


STRANGE = """<script>document.body.dataset.ran = "inline"</script>
<img src="x:" onerror="document.body.dataset.ran = 'handler'">
<img src="http://127.0.0.1:9/secret"><svg onload="document.body.dataset.ran = 'svg'"></svg>
<a id="go" href="javascript:document.body.dataset.ran = 'link'">x</a>"""


def kinds_of_pages() -> dict[str, str]:
    """Every page that the lab writes."""
    entry = index.Entry(study="a", question="?", state="answered", report="a/report.html")
    return {
        "report": built(testing.findings()),
        "index": index.html([entry], profile="", command="x", started="y"),
        "replicas": replicas.html([], ids(), command="x", made="y"),
    }


def test_every_page_forbids_what_is_not_the_labs_own() -> None:
    for name, html in kinds_of_pages().items():
        parsed = Parsed(html)
        policy = next(
            str(attrs["content"])
            for attrs in parsed.of("meta")
            if attrs.get("http-equiv") == "Content-Security-Policy"
        )
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules["default-src"] == "'none'", name
        assert "unsafe" not in rules["script-src"]
        assert rules["base-uri"] == rules["form-action"] == "'none'"
        assert html.index("http-equiv") < html.index("<script") if "<script" in html else True
        for text in re.findall(r"<script>(.*?)</script>", html, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in rules["script-src"], name


def test_no_text_of_a_stranger_turns_or_hides_what_is_beside_it() -> None:
    """A mark of direction would show a command, a name or a verdict as another one."""
    marks = "\u202e\u2066\u200f\u2028\x1b\x9b"
    entry = index.Entry(
        study=f"a{marks}", question=f"?{marks}", state="failed", reason=f"`x`{marks}", log=""
    )
    html = index.html([entry], profile="", command=f"x{marks}", started=marks)
    html += built(replace(testing.findings(), question=marks, answer=marks, study_file=marks))
    assert not set(marks) & set(html)
    assert "\\u202e" in html


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("name", ["report", "index", "replicas"])
def test_a_browser_runs_nothing_that_got_into_a_page(tmp_path: Path, name: str) -> None:
    """As if a text had not been escaped: the policy is there for the day on which that happens."""
    html = kinds_of_pages()[name]
    file = tmp_path / "page.html"
    file.write_text(html.replace("<main>", f"<main>{STRANGE}"), "utf-8")
    assert "data-ran" not in dict(rendered(file).of("body")[0])
    open_to_all = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", html)
    file.write_text(open_to_all.replace("<main>", f"<main>{STRANGE}"), "utf-8")
    assert "data-ran" in dict(rendered(file).of("body")[0]), "without the policy it would run"


PROBE = """<script>addEventListener("load", () => setTimeout(() => {
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument;
    const chart = page.querySelector(".chart").getBoundingClientRect();
    frame.dataset.top = Math.round(chart.top);
    frame.dataset.beyond = page.documentElement.scrollWidth - frame.clientWidth;
  }
}, 20000));</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_first_chart_is_near_the_top_at_every_width(html: str, tmp_path: Path) -> None:
    """Frames, because a browser's window is never as narrow as a phone."""
    (tmp_path / "frames.html").write_text(
        PROBE
        + "".join(
            f'<iframe width="{width}" height="{height}" style="border: 0" srcdoc="{escape(html)}">'
            "</iframe>"
            for width, height in ((1400, 900), (900, 900), (400, 800))
        ),
        "utf-8",
    )
    wide, middle, phone = rendered(tmp_path / "frames.html").of("iframe")
    assert int(str(wide["data-top"])) < 700
    assert int(str(middle["data-top"])) < 700
    assert int(str(phone["data-top"])) < 2 * 800  # at the latest on the second screen
    for frame in (wide, middle, phone):
        assert int(str(frame["data-beyond"])) <= 0  # nothing to scroll sideways


def test_what_is_not_drawn_says_why() -> None:
    text = Parsed(built(testing.degenerate()["no points"])).text
    assert "memcached: p99 sojourn time against offered load: No load was swept." in text


def test_loads_that_differ_by_little_look_different_on_the_page() -> None:
    findings = testing.findings()
    service = findings.services[0]
    near = tuple(replace(service.points[0], fraction=share) for share in (0.9904, 0.9905))
    drawn = replace(findings, services=(replace(service, points=near),))
    html = page.html(drawn, of_services={service.service: []}, of_study=[])
    assert '<th scope="row">99.04 %' in html
    assert '<th scope="row">99.05 %' in html
