"""Effects in page, text and figure."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from sojourn.findings.effects import Effect, FactorFinding
from sojourn.findings.findings import Findings
from sojourn.report import factors, headline, page, terminal, testing
from sojourn.report.draw.figure import Figure
from sojourn.report.figures import factors as figure
from sojourn.stats.interval import Interval
from sojourn.testing_questions import parts

KNOWN = Effect(
    what="p99 at 70 % load",
    is_time=True,
    base="1",
    level="2",
    ratio=1.8,
    interval=Interval(lo=1.4, hi=2.3),
    coverage=0.95,
    blocks=4,
    reason="",
    doubt="",
    sentence="p99 at 70 % load is 1.8 times (1.4 to 2.3) as long with threads = 2 as with 1",
)
UNKNOWN = replace(
    KNOWN,
    what="max RPS",
    ratio=None,
    interval=None,
    blocks=0,
    reason="no block has valid runs of both levels",
)


def findings(*others: str) -> Findings:
    """memcached under two numbers of threads, and under each of `others`."""
    one = testing.memcached()
    services = tuple(
        replace(
            one,
            service=f"memcached, threads = {threads}" + (f", size = {other}" if other else ""),
            label="memcached",
            levels=(("a.threads", threads), *((("a.size", other),) if other else ())),
        )
        for other in others or ("",)
        for threads in (1, 2)
    )
    finding = FactorFinding(
        service="memcached",
        key="a.threads",
        name="threads",
        levels=("1", "2"),
        effects=(KNOWN, UNKNOWN),
        aliases=("size with place",),
        sentence=f"memcached: {KNOWN.sentence}.",
    )
    return replace(testing.findings(), services=services, factors=(finding,))


def test_one_factor_is_shown_by_colour_and_another_by_panels() -> None:
    [one] = figure.draw(findings())
    assert one.chart is not None
    assert one.panels == 1
    assert "facet" not in one.chart
    [two] = figure.draw(findings("small", "large"))
    assert two.chart is not None
    assert two.panels == 2
    assert two.facet_min
    assert "facet" in two.chart
    rows = json.loads(json.dumps(two.chart["datasets"]))["rows"]
    assert {row["level"] for row in rows} == {"1 thread", "2 threads"}
    assert {row["panel"] for row in rows} == {"size small", "size large"}
    assert two.table.columns[:2] == ("threads", "size")


def test_the_first_screen_says_what_the_first_factors_do() -> None:
    result = findings()
    assert headline.beneath(result) == (f"memcached: {KNOWN.sentence}.",)
    many = replace(result, factors=result.factors * 5)
    assert len(headline.beneath(many)) == headline.FACTORS_FIRST
    assert headline.beneath(testing.findings()) == ()


def test_a_study_without_factors_has_no_such_figure() -> None:
    assert figure.draw(testing.findings()) == []
    assert "by factor" not in terminal.text(testing.findings(), parts())


def test_what_is_known_is_a_row_and_what_is_not_says_why() -> None:
    known, unknown = factors.rows(findings().factors[0])
    assert (known.ratio, known.interval, known.basis) == ("× 1.8", "1.4–2.3, 95 %", "4 blocks")
    assert (unknown.ratio, unknown.interval) == ("unknown", "–")
    text = terminal.text(findings(), parts(), 80)
    assert f"{'p99 at 70 % load':<28} {'× 1.8':>8}  1.4–2.3, 95 %" in text
    assert "unknown: max RPS: no block has valid runs" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_page_has_the_effects() -> None:
    result = findings("small", "large")
    drawn = figure.draw(result)
    of_services: dict[str, list[Figure]] = {s.service: [] for s in result.services}
    html = page.html(result, of_services=of_services, of_study=drawn)
    first, second = (at.start() for at in re.finditer(re.escape(KNOWN.sentence), html))
    assert first < html.index("<nav") < html.index('id="factors"') < second
    assert "cannot be separated from" in html
    assert 'href="#factors"' in html
    assert f'data-figure="{drawn[0].name}"' in html
