"""Levels with units have an order; words have none."""

from __future__ import annotations

import pytest

from sojourn.analysis.study import study
from sojourn.analysis.testing import memcached, run_study, study_of
from sojourn.findings import quantity
from sojourn.papers import factors as paper_factors
from sojourn.testing_questions import answers


@pytest.mark.parametrize(
    ("levels", "ordered"),
    [
        (("none", "128MiB", "48MiB"), ("48MiB", "128MiB", "none")),
        (("1GB/s", "80MB/s", "100Mbit/s"), ("100Mbit/s", "80MB/s", "1GB/s")),
        (("100%", "20%"), ("20%", "100%")),
        ((4, 1, 2.5), (1, 2.5, 4)),
        (("50%", "8GB/s"), None),
        (("none", "none"), None),
        (("4:7", "4"), None),
        ((True, False), None),
        (("cpus", "cpus+1"), None),
    ],
)
def test_amounts_of_one_thing_are_ordered(
    levels: tuple[str, ...], ordered: tuple[str, ...] | None
) -> None:
    assert quantity.ordered(levels) == ordered


def test_a_trend_is_reported_by_levels_with_units_and_with_what_the_papers_found() -> None:
    key = "services.memcached.knobs.egress"
    asked = study_of(memcached(measure=["sweep"]))
    run = asked.run.model_copy(update={"repeats": 3, "fractions": (0.5,)})
    levels = ("none", "10MB/s", "40MB/s")
    asked = asked.model_copy(update={"run": run, "factors": {key: levels}})
    (factor,) = study(run_study(asked, capacity_rps=20_000), answers()).factors
    assert factor.trends
    assert {trend.levels for trend in factor.trends} == {('"10MB/s"', '"40MB/s"', "none")}
    assert factor.paper == paper_factors.statements_on("memcached", key, levels) != ""


def test_the_papers_are_asked_about_placements_by_their_form() -> None:
    smt = paper_factors.statements_on("memcached", "services.memcached.cores", ("4", "4:7"))
    assert smt.startswith("C21")
    assert paper_factors.statements_on("memcached", "services.memcached.cores", (1, 2)).startswith(
        "C20"
    )
    assert paper_factors.statements_on("null", "services.null.params.x", ()) == ""
