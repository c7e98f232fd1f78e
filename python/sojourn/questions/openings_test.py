"""What opens each question about factors, costs, suspects, stages and many services."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from sojourn import spec
from sojourn.findings.findings import Findings
from sojourn.models.classify import classify, planted
from sojourn.models.classify.published import Agreed
from sojourn.models.classify.section import Classes, is_asked
from sojourn.questions.opening_words_test import problems
from sojourn.questions.testing_openings import every
from sojourn.report import figures, openings
from sojourn.report.draw.figure import Figure
from sojourn.report.files import pictures
from sojourn.report.openings import testing_settings as of

CASES: dict[str, tuple[str, Callable[[], Findings], str]] = {
    "settings": ("settings", of.settings, "gzip on: p99 2.0 times, max RPS 46 % lower"),
    "places": ("settings", of.places, "virtual machine: p99 at least 32 times"),
    "services in places": ("places", of.in_places, "What 3 services carry in 2 places"),
    "unseen": ("settings", of.unseen, "p99: no difference above a factor of 17 was seen"),
    "cliff": (
        "trends",
        lambda: of.trends("cliff"),
        "p99: cliff between 256,000 and 1,024,000 items",
    ),
    "flat": ("trends", lambda: of.trends("flat"), "p99 is flat within ±7 % with items"),
    "rises": ("trends", lambda: of.trends("rises"), "p99 rises with items, in all × 4.2"),
    "mixed": (
        "trends",
        lambda: of.trends("mixed"),
        "p99 goes up and down with items, in all × 4.2",
    ),
    "unclear": ("trends", lambda: of.trends("unclear"), "p99: no step with items was shown"),
    **{
        case: (name, made.make, made.headline)
        for case, (name, made) in every().items()
        if made.headline
    },
    "tailbench": ("services", of.tailbench, "Load within target: known for 4 of 4 services"),
    "use": (
        "services",
        lambda: of.tailbench(swept=False),
        "Load within target: known for 4 of 4 services",
    ),
}


@cache
def findings_of(case: str) -> Findings:
    """They are made once, because some play a whole study."""
    return CASES[case][1]()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_question_opens_with_its_own_picture_and_short_plain_sentences(
    case: str, width: int
) -> None:
    name, _, headline = CASES[case]
    findings = findings_of(case)
    assert next(kind.name for kind in openings.every() if kind.applies(findings)) == name
    opening = openings.of(findings, width)
    assert opening.headline == headline
    assert opening.sentences
    assert opening.text
    assert problems(findings, width) == []


@pytest.mark.parametrize("case", CASES)
def test_its_first_figure_is_drawn_and_becomes_a_picture(case: str) -> None:
    findings = findings_of(case)
    names = openings.of(findings).figures
    drawn: dict[str, Figure] = {}
    # Likely ones first, because to draw all takes ten times as long.
    for kind in sorted(figures._kinds(), key=lambda one: one.name not in names):
        if drawn.keys() >= set(names):
            break
        of_study = kind.of_study(findings) if kind.of_study else ()
        of_services = [kind.of_service(s) for s in findings.services if kind.of_service]
        drawn |= {f.name: f for group in (of_study, *of_services) for f in group}
    for name in names:
        assert drawn[name].chart, name
        svg = dict(pictures(drawn[name]))["svg"].decode()
        assert "NaN" not in svg
        assert svg.count("<path") > 5


def sentences(case: str) -> tuple[str, ...]:
    return openings.of(findings_of(case)).sentences


def test_no_difference_is_reported_once_and_what_could_be_seen_is_reported() -> None:
    text = sentences("settings")
    assert text[0] == (
        "With gzip on, p99 at 60 % load is 2.0 times (1.2–3.3) as long and max RPS is 0.54 times"
        " (0.46–0.64) as high."
    )
    assert text[1] == "Of sendfile off and access log on no difference was shown."
    assert "only differences above" in text[2]


def test_an_interval_of_more_than_a_factor_of_three_is_no_answer() -> None:
    text = openings.of(of.settings()).text
    wide = next(line for line in text if line.startswith("access log on"))
    assert "seen only above × 17" in wide
    assert "2.02" not in wide
    assert "○" in wide
    assert "unknown" in next(line for line in openings.of(of.places()).text if "runc" in line)


def test_a_flat_curve_says_within_what() -> None:
    assert sentences("flat") == (
        "p99 at 60 % load is flat from 1000 to 1,024,000 items, within ±7 %.",
    )
    assert "4.2 times (3.1–5.6) as long" in sentences("cliff")[0]


def test_a_machine_with_cores_for_one_scenario_says_that_scaling_is_unknown() -> None:
    text = sentences("tailbench")
    assert text[-1] == (
        "What scales is unknown, because this machine has cores for one scenario only."
    )
    findings = of.tailbench()
    two = [replace(s, levels=(("services.each.cores", "2"),)) for s in findings.services]
    effect = replace(of.effect("2", 1.9, 1.7, 2.1, what=of.PEAK), base="1")
    more = of.factor("services.each.cores", "cores", ("1", "2"), effect, service="img_dnn")
    grown = replace(findings, services=(*findings.services, *two), factors=(more,))
    assert openings.of(grown).sentences[-1] == (
        "img_dnn carries 1.9 (1.7–2.1) times as much with 2 cores as with 1 core."
    )


def test_classes_stand_in_a_table_beside_the_papers() -> None:
    rng = np.random.default_rng(20220128)
    known = [
        classify(one.name, [planted.scenario(one.service, n, rng) for n in (1, 8)])
        for one in planted.TABLE
    ]
    papers = tuple(
        Agreed(service=known[0].service, question=question, ours="yes", paper=paper)
        for question, paper in zip("abc", ("yes", "no", "disk, read"), strict=True)
    )
    base = replace(of.tailbench(swept=False), sections={})
    result = base.having("classes", Classes(of=tuple(known), papers=papers))
    assert problems(result) == []
    opening = openings.of(result)
    assert opening.table
    assert opening.table.rows[0][-1] == "yes, no, disk, read"
    assert len(opening.table.rows) == len(known)
    decided = [sum(one.answers[nth].is_decided for one in known) for nth in (2, 0)]
    assert opening.headline == (
        f"Critical resource known for {decided[0]} of {len(known)}, scaling for {decided[1]}"
    )
    assert opening.sentences[-1].startswith(
        "Ours confirm 1 of the paper's 3 answers, contradict 2 and leave none open"
    )


def test_a_study_is_about_classes_where_services_have_cores_and_no_target() -> None:
    asked = {
        name: is_asked(spec.load(name))
        for name in ("service_classes", "resource_use", "tailbench", "thread_scaling")
    }
    assert asked == {
        "service_classes": True,
        "resource_use": False,
        "tailbench": False,
        "thread_scaling": False,
    }


def test_services_in_places_have_a_row_each_with_what_the_places_do_not_share() -> None:
    opening = openings.of(of.in_places())
    assert opening.table is not None
    assert opening.table.columns[:3] == ("service", "place", "100 % load")
    assert opening.caption.endswith("all: virtual machine, restored, behind Open vSwitch")
    rows = [row[:3] for row in opening.table.rows]
    assert [row[1] for row in rows] == ["disk on Ceph", "disk by NBD"] * 3
    assert [row[2] for row in rows].count("unknown") == 1
    assert len(set(opening.table.rows[0][3:])) == 2, "the tails at both ends"
    assert "emulated" in opening.sentences[-1]


@pytest.mark.parametrize(("key", "is_said"), [(of.PLACE, True), (of.GZIP, False)])
def test_only_a_difference_between_places_is_said_to_be_one(key: str, *, is_said: bool) -> None:
    levels = ("vm", "netns") if is_said else ("false", "true")
    one = of.effect(levels[1], 3.0, 2.0, 4.0, base=levels[0])
    findings = replace(of.in_places(), factors=(of.factor(key, "x", levels, one),))
    said = openings.of(findings).sentences[1]
    assert said.startswith("A difference between places was shown" if is_said else "No difference")
