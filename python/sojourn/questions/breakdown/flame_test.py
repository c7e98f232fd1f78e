"""Culprits, flame graph and the price of windows, in the terminal and on the page."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from sojourn import spec
from sojourn.analysis.service import find
from sojourn.findings.findings import ServiceFinding
from sojourn.findings.measured import Measured, StudyData
from sojourn.plan import Outcome, Phase, traced
from sojourn.plan.simulated import Simulated, play
from sojourn.questions import PLANS, answers
from sojourn.questions.breakdown import flame, show
from sojourn.questions.breakdown.testing import (
    SENTENCE,
    STACKS,
    XZ,
    blamed,
    breakdown_of,
    slowed,
    trace,
    windowed,
)
from sojourn.report import figures as all_figures
from sojourn.report import page, testing
from sojourn.report.files import pictures
from sojourn.samples.traced import Folded, TraceResult

OVERLOADED = 0.9  # of max RPS: what the tracer makes too much


def service_finding(
    of: Callable[[], TraceResult] = blamed, study: str = "breakdown", wait: str = "spin"
) -> ServiceFinding:
    """memcached at 10, 50 and 90 % load, the last of which it does not carry when traced."""
    sets = ["run.fractions=[0.1, 0.5, 0.9]", "run.repeats=1", "trace=true"]
    asked = spec.load(study, profile="quick", overrides=sets)
    service = asked.service("memcached")
    runs = [o for o in play(asked, Simulated().measure, PLANS) if o.point.service == service.label]
    data = StudyData(
        study=asked, measured=tuple(_measured(run, of, wait) for run in runs), questions=PLANS
    )
    return find(data, service, answers())


def _measured(outcome: Outcome, of: Callable[[], TraceResult], wait: str) -> Measured:
    if outcome.point.phase is not Phase.TRACE:
        return Measured(outcome=outcome)
    setting, is_traced = traced.of(outcome.point)
    is_slow = is_traced and setting["load"] == OVERLOADED
    is_loaded = not traced.is_alone(setting) and setting["neighbour"] == "none"
    achieved = (0.7 if is_slow else 1.0) * outcome.offered_rps
    return Measured(
        outcome=replace(outcome, achieved_rps=achieved, p99_ns=30e3),
        traced=(of() if is_loaded else trace(1.0)) if is_traced else None,
        stacks=STACKS if is_traced and is_loaded else (),
        client_wait=wait,
        wire_ns=(("p50", 15e3), ("p99", 25e3)),
    )


def page_of(finding: ServiceFinding) -> str:
    findings = replace(testing.findings(), services=(finding,))
    drawn = {finding.service: all_figures.of_service(finding)}
    return page.html(findings, of_services=drawn, of_study=[])


def test_the_answer_names_who_is_to_blame_where_the_tracer_left_the_load_as_it_was() -> None:
    finding = service_finding()
    assert (breakdown_of(finding).top, breakdown_of(finding).accused) == ("50 % load", "50 % load")
    assert finding.answer.endswith(f"{SENTENCE}.")
    assert finding.answer.startswith("At 50 % load")


def test_culprits_that_are_known_at_another_load_only_are_reported_with_it() -> None:
    loads = iter((trace(1.0), blamed(), trace(1.0)))
    finding = service_finding(lambda: next(loads))
    known = [c.name for c in show.blamed(breakdown_of(finding))]
    assert [breakdown_of(finding).accused] == known
    if breakdown_of(finding).top not in known:
        assert f"At {known[0]} {SENTENCE}." in finding.answer


def test_the_terminal_says_the_sentence_and_what_the_tracer_did() -> None:
    breakdown = breakdown_of(service_finding())
    assert breakdown is not None
    text = "\n".join(show.lines(breakdown, 80))
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for load in ("10 %", "50 %", "90 %"):
        assert f"- {load} load, {SENTENCE}" in flat
    assert "90 % load, interference: traced, the service completes 70 % of what" in flat


def test_the_page_has_the_sentence_the_suspects_and_the_flame_graph() -> None:
    html = page_of(service_finding())
    assert html.count(f"<summary>50 % load: {SENTENCE}") == 1
    assert html.count('<details class="numbers" open>') == 1  # the others are folded
    assert f"★ {XZ}" in html
    assert "<td>71 %</td><td>60 %</td>" in html  # with its lower bound
    assert '<figure id="memcached-flame" class="wide">' in html
    assert "Every request was traced. With the tracer the client" in html
    assert "throughput × 0.70" in html  # the price of that very point


def test_a_name_from_the_machine_stays_text() -> None:
    evil = "</script><script>alert(1)</script>"
    html = page_of(service_finding(lambda: blamed(evil, f"p99: {evil}")))
    assert "<script>alert(1)" not in html


def test_a_flame_graph_is_as_wide_as_the_time_and_keeps_all_of_it() -> None:
    [figure] = flame.draw(service_finding())
    assert figure.chart is not None
    assert figure.alt == SENTENCE
    assert figure.is_wide
    sets = cast("dict[str, list[dict[str, object]]]", figure.chart["datasets"])
    rows: dict[tuple[str, int], float] = defaultdict(float)
    for box in sets["frames"]:
        rows[str(box["of"]), int(cast("int", box["low"]))] += float(cast("float", box["wide"]))
    assert list(rows.values()) == [pytest.approx(1.0)] * 6  # three levels, each with all the time
    waits = next(b for b in sets["frames"] if b["frame"] == "waits for a CPU")
    assert waits["wide"] == pytest.approx(0.71)
    assert waits["time"] == "71.0 µs a request"  # 710 µs over ten requests
    assert sum(float(str(row[2])) for row in figure.table.rows) == pytest.approx(100e3 + 10e3)
    svg = next(content for suffix, content in pictures(figure) if suffix == "svg").decode()
    assert "behind xz (cgroup batch)" in svg
    assert "NaN" not in svg
    assert "var(--" not in json.dumps(svg)


def stacked(stacks: Folded, answer: str = SENTENCE) -> ServiceFinding:
    finding = service_finding(lambda: blamed(answer=answer))
    columns = tuple(
        replace(c, culprits=c.culprits and replace(c.culprits, stacks=stacks))
        for c in breakdown_of(finding).columns
    )
    return finding.having("breakdown", replace(breakdown_of(finding), columns=columns))


def test_threads_are_drawn_however_many_share_the_time() -> None:
    stacks = tuple(((of, f"t{n}", "works"), 1.0) for of in ("p99", "others") for n in range(200))
    [figure] = flame.draw(stacked(stacks))
    assert figure.chart is not None
    sets = cast("dict[str, list[dict[str, object]]]", figure.chart["datasets"])
    assert len(sets["frames"]) == 400
    assert {box["low"] for box in sets["frames"]} == {0}


@pytest.mark.parametrize("stacks", [(), ((("p99",), 5.0),), ((("p95", "m", "works"), 5.0),)])
def test_without_frames_the_flame_graph_says_why(stacks: Folded) -> None:
    [figure] = flame.draw(stacked(stacks, f"{SENTENCE}."))
    assert figure.chart is None
    assert figure.missing == f"There are no stacks: {SENTENCE}."


def test_without_culprits_nothing_is_drawn_or_reported_about_them() -> None:
    finding = service_finding(lambda: trace(1.0))
    assert flame.draw(finding) == []
    assert "p99: " not in finding.answer
    assert "Who makes the slowest" not in page_of(finding)


def test_windows_say_what_they_took_and_what_their_numbers_are_of() -> None:
    breakdown = breakdown_of(
        service_finding(lambda: windowed(0.012, 0.004, 0.021, 40e3), "latency_vs_load")
    )
    assert breakdown is not None
    rows = dict(show.rows(show.known(breakdown)))
    assert rows["windows"] == ["12"] * 3
    assert rows["asked"] == ["2 %"] * 3
    assert rows["measured"] == ["1.2 %"] * 3
    assert rows["  95 %"] == ["0.4–2.1 %"] * 3
    assert rows["in a window"] == ["20.0 %"] * 3
    assert rows["p99, 95 %"] == ["25.0–40.0 µs"] * 3
    assert any("service while it is traced" in note for note in show.notes(breakdown))
    assert show.price(show.known(breakdown)[0]).startswith(
        "Requests that came in 12 random windows were traced: asked for 2 % of the service's CPU"
        " time, measured 1.2 % (95 %: 0.4–2.1 %). With the tracer"
    )


def test_what_hooks_do_to_the_tail_is_beside_the_price_of_windows() -> None:
    breakdown = breakdown_of(service_finding(lambda: slowed(1.2), "latency_vs_load"))
    assert breakdown is not None
    columns = show.known(breakdown)
    assert [show.named(c) for c in columns] == ["10 % load ?", "50 % load ?", "90 % load ?"]
    rows = dict(show.rows(columns))
    assert rows["est. mean"] == ["× 1.05"] * 3
    assert rows["est. tail"] == ["× 1.20"] * 3
    assert rows["in a window"] == ["20.0 %"] * 3
    text = " ".join("\n".join(show.lines(breakdown, 80)).split())
    assert "while traced, hooks make the tail ×1.20 as long by estimate: read shares" in text


def test_an_interval_that_is_open_above_or_goes_below_nothing_says_so() -> None:
    breakdown = breakdown_of(
        service_finding(lambda: windowed(-0.003, -0.01, 0.02, None), "latency_vs_load")
    )
    assert breakdown is not None
    rows = dict(show.rows(show.known(breakdown)))
    assert rows["measured"] == ["−0.3 %"] * 3
    assert rows["  95 %"] == ["−1.0–2.0 %"] * 3
    assert rows["p99, 95 %"] == ["≥ 25.0 µs"] * 3


@pytest.mark.parametrize(
    ("wait", "words"), [("spin", "no wake-up"), ("sleep", "its wake-up"), ("", "is not known")]
)
def test_the_gap_says_whether_the_client_slept(wait: str, words: str) -> None:
    breakdown = breakdown_of(service_finding(wait=wait))
    assert breakdown is not None
    [note] = [n for n in show.notes(breakdown) if n.startswith("gap")]
    assert words.replace("its wake-up", "the client's wake-up") in note
    rows = dict(show.rows(show.known(breakdown)))
    assert set(rows["gap p50"]) == {"5 µs"}
    assert set(rows["gap p99"]) == {"−5 µs"}  # the server's p99 is 30 µs, of 25 at the client
