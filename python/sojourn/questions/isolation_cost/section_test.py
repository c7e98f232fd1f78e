"""Costs and attributions from made-up points to answer, terminal and page."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from sojourn import analysis, report, spec
from sojourn.analysis import Measured, StudyData
from sojourn.analysis.testing import measured
from sojourn.plan import Verdict
from sojourn.plan.next import Progress
from sojourn.plan.rehearsal import imagine
from sojourn.plan.simulated import play
from sojourn.questions import PLANS, answers, parts
from sojourn.questions.isolation_cost import judge, opening, plan, testing_opening
from sojourn.questions.isolation_cost.costs import Felt
from sojourn.questions.isolation_cost.files import Change, CostFile, Costs, CostTable
from sojourn.questions.isolation_cost.judge import IsolationCosts
from sojourn.questions.isolation_cost.section import _with_ends
from sojourn.questions.isolation_cost.table_iv import TABLE_IV
from sojourn.questions.isolation_cost.tables import cost_rows, tail_effect_rows
from sojourn.stats import quantile_regression
from sojourn.stats.interval import Interval


def _table(name: str, ns: list[int], **changes: object) -> CostTable:
    table = {
        "name": name,
        "about": "a change",
        "is_restart": False,
        "one": "a write",
        "levels": ("a", "b"),
        "missing": "",
        "fix": "",
        "failed": "",
        "ns": ns,
        "runs": [(len(ns), 1000, 0)],
        "changes": [],
        "lab_ns": [],
        "amiss": [],
        "checks": 4,
    }
    return CostTable.model_validate(table | changes)


def test_the_fix_is_read_from_files_of_earlier_versions_too() -> None:
    now = _table("llc_ways", [], missing="resctrl", fix="mount it")
    older = now.model_dump()
    older["mend"] = older.pop("fix")
    assert CostTable.model_validate(older) == now


def _costs(host: str, others: float) -> Costs:
    rng = np.random.default_rng(1)
    ns = [int(one) for one in rng.normal(38_000, 2_000, 1000)]
    lacks = {"missing": "resctrl", "fix": "mount it"}
    loaded = {"changes": [(n, n + 1) for n in range(20)]} if host == plan.LOADED else {}
    tables = [_table("cpu_quota", ns, **loaded), _table("llc_ways", [], runs=[], **lacks)]
    changes = [Change(rng.exponential(1e5, 200), rng.exponential(2e5, 200)) for _ in range(20)]
    file = CostFile(host=host, mechanisms=tables, others_share=others)
    return Costs(file=file, changes={"cpu_quota": tuple(changes)} if loaded else {})


def _study_data(others: float, loaded: Verdict = Verdict.HOLDS) -> StudyData:
    """A study; `loaded`: whether its run under load is believed."""
    of = spec.load("isolation_cost", profile="quick", asks=PLANS.mistakes)
    played = play(of, imagine, PLANS)
    hosts = [o.point.setting.get(plan.HOST) for o in played]
    assert sorted(str(host) for host in hosts if host) == sorted(plan.HOSTS)
    why = ("client stopped",) if loaded is Verdict.UNKNOWN else ()
    outcomes = [
        replace(o, verdict=loaded, reasons=why) if host == plan.LOADED else o
        for o, host in zip(played, hosts, strict=True)
    ]
    every = (
        Measured(outcome=o, own=_costs(str(host), others) if host else None)
        for o, host in zip(outcomes, hosts, strict=True)
    )
    return StudyData(study=of, measured=tuple(every), questions=PLANS)


def test_a_change_is_reported_with_interval_host_and_paper() -> None:
    result = analysis.study(_study_data(0.01), answers())
    assert result.verdict is Verdict.HOLDS, result.reasons
    assert result.answer.startswith("A change of cpu_quota takes 37.9 µs (37.7 to 38.1 µs, p99 ")
    assert "on the idle host" in result.answer
    whole = result.services[0].answer
    assert "Not on this machine: llc_ways." in whole
    assert "One change lengthens p99 of the service under load: cpu_quota" in whole
    section = result.services[0].section(IsolationCosts)
    assert section is not None
    rows = {(row["mechanism"], row["host"]): row for row in cost_rows(section)}
    assert rows["cpu_quota", "idle"]["applications"] == 1000
    assert rows["llc_ways", ""]["fix"] == "mount it"
    assert {one.mean_ns for one in TABLE_IV if one.column == "CPU"} == {6.5e6, 11.7e6}
    text = report.text(result, parts())
    assert "llc_ways: resctrl is missing; mount it" in text
    lines = [line for line in text.splitlines() if line.startswith("cpu_quota ")]
    times = {row["max"] for row in cost_rows(section) if row["mechanism"] == "cpu_quota"}
    assert {" ".join(line.split()[-2:]) for line in lines[: len(times)]} == times


def test_changes_in_a_run_under_load_that_is_in_doubt_do_not_count() -> None:
    result = analysis.study(_study_data(0.01, Verdict.UNKNOWN), answers())
    why = "uns under load that do not count: 1 of 1, client stopped"
    assert result.verdict is Verdict.UNKNOWN
    assert any(f"r{why}" in reason for reason in result.reasons)
    service = result.services[0]
    assert "One change" not in service.answer
    assert f"R{why}." in service.answer
    section = service.section(IsolationCosts)
    assert section is not None
    (effect,) = [row.felt for row in section.rows if row.felt]
    assert effect.refused == "0 changes had requests around them, 8 are needed"
    assert {"idle", "loaded"} < set(section.rows[0].costs), "what it costs is known all the same"


def test_a_mechanism_that_was_not_in_force_is_in_no_sentence_but_that_of_doubts() -> None:
    doubted = replace(testing_opening._cost_row("cpu_quota", 38e3), doubts=("not in force",))
    rows = (doubted, testing_opening._cost_row("memory_limit", 2e6))
    section = IsolationCosts(rows=rows, others_share=0.01)
    result = judge._with_answer(section, Progress(), ("", False), is_alone=True)
    assert result.headline.startswith("A change of memory_limit takes ")
    assert "cpu_quota takes" not in result.answer
    assert "Doubted: cpu_quota." in result.answer
    assert "One change lengthens p99" not in result.answer
    alone = judge._with_answer(
        replace(section, rows=(doubted,)), Progress(), ("", False), is_alone=True
    )
    assert alone.headline == "Doubted: cpu_quota."


def test_where_lost_requests_leave_no_ratio_the_bound_is_shown() -> None:
    effect = Felt(
        changes=20,
        requests=4_000,
        before_ns=1e5,
        after_ns=math.inf,
        ratio=math.inf,
        interval=Interval(lo=3.2, hi=math.inf),
        is_longer=True,
    )
    row = replace(testing_opening._cost_row("cpu_quota", 38e3), felt=effect)
    [record] = tail_effect_rows(IsolationCosts(rows=(row,)))
    assert (record["said"], record["word"]) == ("at least 3.20", "longer")
    assert judge._longer(row) == "cpu_quota at least 3.20 times"
    assert "cpu quota at least 3.2 times" in opening._tail(IsolationCosts(rows=(row,)))
    drawn = _with_ends(record)
    assert (drawn["times"], drawn["lo"], drawn["hi"]) == (3.2, 3.2, 32.0)


def test_an_interval_without_an_end_is_shown_as_that() -> None:
    effect = Felt(
        changes=20,
        requests=4_000,
        before_ns=1e5,
        after_ns=2e5,
        ratio=2.0,
        interval=Interval(lo=1.5, hi=math.inf),
        is_longer=True,
    )
    row = replace(testing_opening._cost_row("cpu_quota", 38e3), felt=effect)
    [record] = tail_effect_rows(IsolationCosts(rows=(row,)))
    assert record["said"] == "2.00 (1.50 to ∞)"
    assert judge._longer(row) == "cpu_quota 2.00 times (1.50 to ∞)"
    assert "cpu quota at least 1.5 times" in opening._tail(IsolationCosts(rows=(row,)))
    drawn = _with_ends(record)
    assert (drawn["lo"], drawn["hi"]) == (1.5, 20.0)
    assert _with_ends({"times": 0.5, "lo": 0.0, "hi": 1.0})["lo"] == 0.05


def test_a_host_that_was_not_idle_is_reported_and_the_numbers_stay() -> None:
    result = analysis.study(_study_data(0.4), answers())
    assert result.verdict is Verdict.UNKNOWN
    assert any("was not idle: others used 40%" in reason for reason in result.reasons)
    assert "takes 37.9 µs" in result.answer


def test_attribution_names_the_factor_that_moves_the_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantile_regression, "SAMPLES", 100)
    sets = ["run.repeats=4", "run.measure_s=0.5"]
    of = spec.load("attribution", profile="quick", overrides=sets, asks=PLANS.mistakes)
    key = "services.memcached.params.threads"
    rng, results = np.random.default_rng(1), []
    for outcome in play(of, imagine, PLANS):
        times = 1 if outcome.point.setting[key] == 1 else math.exp(0.7)
        one = measured(outcome.point, rng.exponential(1e5 * times, 4000))
        results.append(replace(one, outcome=replace(one.outcome, verdict=Verdict.HOLDS)))
    assert len(results) == 4 * 8
    done = analysis.study(StudyData(study=of, measured=tuple(results), questions=PLANS), answers())
    assert done.verdict is Verdict.HOLDS, done.reasons
    assert "p99 is moved by threads 1 → 2" in done.answer
    assert "which factor moves the tail" in report.text(done, parts())
    few = analysis.study(
        StudyData(study=of, measured=tuple(results[:8]), questions=PLANS), answers()
    )
    assert few.verdict is Verdict.UNKNOWN
    assert any("blocks have a valid run" in reason for reason in few.reasons)


@pytest.mark.parametrize(("factor", "is_doubted"), [(1.5, True), (1.0, False)])
def test_a_restored_guest_that_measures_otherwise_is_doubted(
    factor: float,
    is_doubted: bool,  # noqa: FBT001  # a case
) -> None:
    rng = np.random.default_rng(2)

    def own(host: str) -> Costs:
        tables = []
        for name, start_ns, slower in (
            ("restart_vm", 5e9, 1.0),
            ("restart_vm_restored", 5e8, factor),
        ):
            ns = [int(one) for one in rng.normal(start_ns, start_ns / 100, 8)]
            blocks = [[int(one) for one in rng.normal(2e7 * slower, 2e5, 8)] for _ in range(4)]
            tables.append(_table(name, ns, is_restart=True, probed=blocks))
        file = CostFile(host=host, mechanisms=tables, others_share=0.01)
        return Costs(file=file, changes={})

    data = _study_data(0.01)
    every = (
        replace(m, own=own(m.own.file.host)) if isinstance(m.own, Costs) else m
        for m in data.measured
    )
    result = analysis.study(replace(data, measured=tuple(every)), answers())
    section = result.services[0].section(IsolationCosts)
    assert section is not None
    booted, restored = section.rows
    assert booted.doubts == ()
    assert bool(restored.doubts) is is_doubted
    assert ("Doubted: restart_vm_restored" in section.answer) is is_doubted
    assert ("The same work in a restored guest" in section.answer) is not is_doubted
    assert section.headline != judge.NOTHING


@pytest.mark.parametrize("ns", [0, -1, 1 << 70])
def test_a_file_with_times_that_no_work_takes_is_refused(ns: int) -> None:
    with pytest.raises(ValidationError):
        _table("restart_vm", [1], probed=[[5, ns]])
    assert _table("restart_vm", [1], probed=[[5, 7]]).probed == [[5, 7]]
