"""Every opening of every kind of study: short sentences, plain words, lines that fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial

import pytest
from altair.utils import schemapi

from sojourn.findings.findings import Findings
from sojourn.findings.neighbour_pace import Kept
from sojourn.questions import parts, testing_state
from sojourn.questions.breakdown import flame_test
from sojourn.questions.testing_openings import every
from sojourn.report import answer, doubts, figures, openings, page, testing, text
from sojourn.report.draw.figure import Figure, Kind
from sojourn.report.large_test import campaign
from sojourn.report.openings import testing_openings, testing_settings
from sojourn.report.openings.opening import HEADLINE_MAX, SENTENCES_MAX, WORDS_MAX, words
from sojourn.report.page_test import Parsed
from sojourn.stats.interval import Interval

#: A level as a study has it, which no one but a study should have to read.
RAW = re.compile(r'="|\w+:\w+[,@=]\w|where=|policy=|(?<!\w)(nice|fifo|rr|slice|noise|batch):')
PLAIN = {"demo": testing.findings(), **testing.degenerate(), **testing.answers()}
#: What each question finds where it goes well, and where little is known, as the tests play it.
PLAYED: dict[str, Callable[[], Findings]] = {
    **{case: made.make for case, (_, made) in every().items() if made.is_played},
    "interference": testing_openings.interference,
    "unbelieved": testing_openings.unbelieved,
}
CASES = (*PLAIN, *PLAYED)


def problems(findings: Findings, width: int = 80) -> list[str]:
    """What of an opening no reader should meet."""
    result = openings.of(findings, width)
    texts = [result.headline, *result.sentences]
    bad = [f"raw level: {one}" for one in (*texts, *result.text) if RAW.search(one)]
    bad += [f"long: {one}" for one in result.sentences if words(one) > WORDS_MAX]
    bad += [f"two in one: {one}" for one in result.sentences if re.search(r"[.!?] [A-Z]", one)]
    bad += [f"no end: {one}" for one in result.sentences if not one.endswith(".")]
    bad += [f"wide: {line}" for line in result.text if len(line) > width]
    if not 0 < len(result.headline) <= HEADLINE_MAX:
        bad.append(f"headline: {result.headline}")
    if len(result.sentences) > SENTENCES_MAX:
        bad.append(f"{len(result.sentences)} sentences")
    return bad


@cache
def findings_of(case: str) -> Findings:
    return PLAIN[case] if case in PLAIN else PLAYED[case]()


@cache
def drawn(case: str) -> tuple[dict[str, list[Figure]], list[Figure]]:
    """All figures, those of each service and those of the study: to draw takes longest here."""
    findings = findings_of(case)
    of_services = {s.service: figures.of_service(s) for s in findings.services}
    return of_services, figures.of_study(findings)


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("case", CASES)
def test_what_is_reported_first_is_short_and_plain(case: str, width: int) -> None:
    assert problems(findings_of(case), width) == []


@pytest.mark.parametrize("case", PLAYED)
def test_each_question_opens_with_its_own(case: str) -> None:
    findings = findings_of(case)
    kind = next(kind for kind in openings.every() if kind.applies(findings))
    assert kind.name == case.partition(",")[0]
    opening = kind.opening(findings, 80)
    assert opening.sentences
    assert opening.text
    assert not opening.has_tiles


@pytest.mark.parametrize("case", PLAYED)
def test_lists_of_records_show_the_same_words_in_one_line(case: str) -> None:
    findings = findings_of(case)
    opening, line = openings.of(findings), answer(findings, parts())
    assert line == " ".join([f"{opening.headline}.", *opening.sentences])
    assert not RAW.search(line)


def test_where_tiles_open_lists_show_the_answers_of_the_services() -> None:
    findings = findings_of("demo")
    assert openings.of(findings).has_tiles
    assert answer(findings, parts()) == findings.answer


@pytest.mark.parametrize("case", PLAYED)
def test_the_page_shows_headline_sentences_and_figures_before_anything_else(case: str) -> None:
    findings, opening = findings_of(case), openings.of(findings_of(case))
    of_services, of_study = drawn(case)
    html = page.html(findings, of_services=of_services, of_study=of_study)
    body = html[html.index("<main>") : html.index('id="figures"')]
    first = body[: body.index("In words")]
    message = " ".join(Parsed(first + "<p>").text.split())
    for sentence in (opening.headline, *opening.sentences):
        assert " ".join(sentence.split()) in message
    for name in opening.figures:
        assert f'data-figure="{name}"' in first
        assert body.count(f'data-figure="{name}"') == 1  # and nowhere else again
    assert 'class="tile"' not in first
    ids = [attrs["id"] for _, attrs in Parsed(html).tags if attrs.get("id")]
    assert len(ids) == len(set(ids))


@pytest.mark.skipif("beside" not in PLAYED, reason="beside is not asked")
def test_the_terminal_opens_with_the_same() -> None:
    findings = findings_of("beside")
    opening = openings.of(findings)
    lines = text(findings, parts(), is_whole=False).splitlines()
    assert lines[0] == opening.headline
    assert opening.text[-1] in lines
    assert len(lines) < len(text(findings, parts()).splitlines()) / 2
    assert not RAW.search("\n".join(lines[: len(opening.text) + 8]))


@pytest.mark.skipif("qos_matrix" not in PLAYED, reason="qos_matrix is not asked")
def test_what_each_matrix_says_is_what_was_planted() -> None:
    opening = openings.of(findings_of("qos_matrix"))
    first, second, third = opening.sentences
    assert first == (
        "Both fit with memcached up to 60 % load beside synthetic at 10 %, "
        "and up to 10 % beside 60 %."
    )
    assert second.startswith("The most load that fits together is memcached at ")
    assert third == "In the other pairs: in 11 only memcached misses its target, in 17 both do."
    assert opening.headline == "Both targets met in 21 of 49 pairs of loads"


@pytest.mark.skipif("scheduler_bakeoff" not in PLAYED, reason="scheduler_bakeoff is not asked")
def test_the_setting_that_carries_most_opens_a_bake_off() -> None:
    opening = openings.of(findings_of("scheduler_bakeoff"))
    assert opening.headline == "Both FIFO by rate carries most: 6 of 9 pairs of loads"
    assert "idle time is lost with both FIFO by rate, both quota by load" in opening.sentences[1]
    assert opening.table
    assert opening.table.rows[0][0] == "both FIFO by rate"


@pytest.mark.skipif("beside" not in PLAYED, reason="beside is not asked")
def test_where_each_setting_breaks_opens_a_comparison_beside_a_neighbour() -> None:
    opening = openings.of(findings_of("beside"))
    assert opening.headline == "FIFO keeps p95 up to 60 % load"
    first = (
        "Beside a square wave of 6 ms in 48 ms p95 of memcached doubles first with "
        "kernel default and nice −20, at 30 to 60 % load."
    )
    assert opening.sentences == (
        first,
        "It never doubles up to 60 % load with FIFO.",
        "The neighbour keeps about 90 % of its work under each setting.",
    )


def test_the_worst_antagonist_opens_interference() -> None:
    opening = openings.of(findings_of("interference"))
    assert "CPU hog at 75 %" in opening.headline
    assert opening.sentences[0].startswith("p99 at 70 % load is ")
    assert "no difference was shown" in opening.sentences[-1]
    assert sum("no difference" in message for message in opening.sentences) == 1


@pytest.mark.skipif("colocation" not in PLAYED, reason="colocation is not asked")
def test_the_longest_stay_opens_a_co_location() -> None:
    opening = openings.of(findings_of("colocation"))
    assert opening.headline == "CPU hog on the same CPU may stay up to 30 % load"
    assert opening.sentences[0].startswith(
        "A CPU hog on the same CPU may stay up to 30 % load and keeps 63 %"
    )


def test_reasons_that_combinations_share_are_reported_once() -> None:
    findings = findings_of("unbelieved")
    message = doubts.reasons(findings)
    assert len(findings.reasons) > 2 * len(message)
    assert len({_without_numbers(one) for one in message}) == len(message)
    assert any("combinations" in one for one in message)


def _without_numbers(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)


@pytest.mark.parametrize("case", CASES)
def test_the_figures_that_it_names_are_drawn_or_missing_with_a_reason(case: str) -> None:
    opening = openings.of(findings_of(case))
    if opening.has_tiles:  # what is named there may not be drawn; `figures_test` draws it
        assert not opening.sentences
        return
    each, whole = drawn(case)
    assert set(opening.figures) <= {f.name for some in (whole, *each.values()) for f in some}


def paced() -> Findings:
    """Many combinations, each beside a neighbour that is held to a rate of its own."""
    base = campaign(2)
    beside = Kept(
        neighbour="",
        fraction=0.0,
        unit="bytes",
        share=0.5,
        interval=Interval(lo=0.4, hi=0.6),
        per_s=5e7,
        asked_per_s=1e8,
        alone_per_s=2e8,
        runs=3,
    )
    services = (
        replace(
            one,
            kept=tuple(
                replace(beside, neighbour=f"noise:membw@{n}00MB/s", fraction=point.fraction)
                for point in one.points
            ),
        )
        for n, one in enumerate(base.services)
    )
    return replace(base, services=tuple(services))


def flame() -> Findings:
    return replace(testing.findings(), services=(flame_test.service_finding(),), sections={})


@cache
def states() -> Mapping[str, testing_state.Made]:
    return testing_state.every()


def of_state(name: str) -> Findings:
    return states()[name].found


#: Questions that draw.
DRAW = [one.name for one in parts().sections if one.figures]
#: Of those in `PLAIN` that differ in what is drawn.
LOOKS = ("demo", "all unknown", "one point", "infinite quantiles", "no qos", "no runs")
#: For kinds of figures that no case above draws, the last for questions without an opening.
MORE: dict[str, Callable[[], Findings]] = {
    "settings": testing_settings.settings,
    "trends": partial(testing_settings.trends, "cliff"),
    "services": testing_settings.tailbench,
    "paced": paced,
    "flame": flame,
    **{
        case: made.make
        for case, (name, made) in every().items()
        if name in DRAW and not made.is_played
    },
    **{f"state of {name}": partial(of_state, name) for name in DRAW},
}


def drawn_as(kind: Kind, findings: Findings) -> list[Figure]:
    of_study = kind.of_study(findings) if kind.of_study else ()
    of_services = (kind.of_service(s) for s in findings.services if kind.of_service)
    return [*of_study, *(figure for some in of_services for figure in some)]


def test_altair_checks_every_kind_of_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports are drawn without its checks: a property that Vega-Lite lacks is seen here alone."""
    monkeypatch.setattr(schemapi, "DEBUG_MODE", True)
    kinds = {kind.name: kind for kind in figures._kinds() if kind.name != "null"}
    own = {shown.name: {kind.name for kind in shown.figures} for shown in parts().sections}
    cases: dict[str, Callable[[], Findings]] = {
        **{case: partial(findings_of, case) for case in CASES},
        **MORE,
    }
    done = set[str]()
    for case, make in cases.items():
        again = own.get(case.partition(",")[0], set()) if case in PLAYED else set()
        wanted = set(kinds) if case in LOOKS else {*again, *(kinds.keys() - done)}
        if not wanted:
            continue
        findings = make()
        for name in wanted:
            if any(figure.chart for figure in drawn_as(kinds[name], findings)):
                done.add(name)
    assert done == kinds.keys()


def test_the_last_kind_opens_whatever_no_other_does() -> None:
    assert openings.every()[-1].name == "plain"
    assert openings.KINDS["plain"].applies(testing.degenerate()["no services"])


def test_a_raw_level_and_a_long_sentence_are_found() -> None:
    """So that the checks above can fail."""
    assert RAW.search('neighbour = "batch:xz,where=server,policy=idle"')
    assert RAW.search("memcached nice:-20")
    assert not RAW.search("xz on the same CPU as SCHED_IDLE: 30 % load at 14:03")
