"""What the first screen says of isolation costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sojourn.findings.findings import Findings
from sojourn.questions.isolation_cost import opening
from sojourn.questions.isolation_cost.judge import IsolationCosts
from sojourn.questions.isolation_cost.testing_opening import isolation
from sojourn.report import openings
from sojourn.stats.interval import Interval


def test_the_paper_is_beside_what_isolation_costs() -> None:
    cheap, paper, tail = openings.of(isolation()).sentences
    assert cheap.startswith("Cheapest is cpu quota, 38 µs")
    assert "empty" not in cheap
    assert "1.2 to 3.5 times as long" in paper
    assert "cpu quota 2.0 (1.7–2.3) times" in tail
    rows = openings.of(isolation()).text
    assert any("◆" in row for row in rows if row.startswith("restart runc"))


def changed(name: str, **values: Any) -> tuple[Findings, IsolationCosts]:
    """The same with one mechanism otherwise."""
    findings = isolation()
    section = findings.services[0].section(IsolationCosts)
    assert section is not None
    rows = tuple(replace(row, **values) if row.name == name else row for row in section.rows)
    own = replace(section, rows=rows)
    service = findings.services[0].having("isolation_cost", own)
    return replace(findings, services=(service,)), own


@pytest.mark.parametrize("name", ["cpu_quota", "restart_runc"])
def test_a_mechanism_that_was_not_in_force_leads_nothing(name: str) -> None:
    """It may be the cheapest because it did nothing."""
    findings, section = changed(name, doubts=("idle: 3 of 4 read-backs found it not in force",))
    result = openings.of(findings)
    called = name.replace("_", " ")
    assert called not in result.headline
    assert not any(called in one for one in result.sentences)
    assert any(line.startswith(f"{called} (?)") for line in result.text)
    assert called not in [one for one, _ in opening.ranked(section)]


def test_where_no_cost_is_believed_none_leads() -> None:
    _, section = changed("cpu_quota")
    rows = tuple(replace(row, doubts=("failed",)) for row in section.rows)
    service = isolation().services[0].having("isolation_cost", replace(section, rows=rows))
    result = openings.of(replace(isolation(), services=(service,)))
    assert result.headline == "Of 3 mechanisms every cost is doubted"
    assert result.sentences[0].startswith("Doubted: cpu quota, ")


def test_a_cost_of_a_loaded_host_is_named_as_that_and_not_held_against_the_paper() -> None:
    findings, section = changed("cpu_quota")
    quota = next(row for row in section.rows if row.name == "cpu_quota")
    _, loaded = changed("cpu_quota", costs={"loaded": quota.costs["loaded"]})
    assert opening.ranked(loaded)[0][0] == "cpu quota, loaded host"
    runc = next(row for row in section.rows if row.name == "restart_runc")
    _, busy = changed("restart_runc", costs={"loaded": runc.costs["loaded"]})
    assert opening._against_paper(section) != opening._against_paper(busy)
    assert "loaded host" not in openings.of(findings).headline


def test_the_cheapest_and_the_dearest_are_named_surely_only_where_intervals_are_apart() -> None:
    def said(name: str, ends: Interval | None) -> str:
        row = next(row for row in section.rows if row.name == name)
        cost = replace(row.costs["idle"], mean=replace(row.costs["idle"].mean, interval=ends))
        findings, _ = changed(name, costs={"idle": cost})
        return openings.of(findings).sentences[0]

    _, section = changed("cpu_quota")
    sure = said("cpu_quota", Interval(lo=3e4, hi=4e4))
    assert sure.startswith("Cheapest is cpu quota, ")
    assert "dearest is restart runc, " in sure
    for ends in (Interval(lo=3e4, hi=3e6), None):
        assert said("cpu_quota", ends).startswith("Cheapest may be cpu quota, ")
    for ends in (Interval(lo=1e6, hi=1e9), None):
        assert "dearest may be restart runc, " in said("restart_runc", ends)
