"""What a service uses as text: whole lines, however narrow the terminal is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.findings.resource_use import CpuTrend
from sojourn.report import resources, testing, testing_use


@pytest.mark.parametrize(("width", "cell"), [(79, "13.5 ms/s (7.68–27.9)"), (60, "13.5 ms/s  ")])
def test_lines_are_as_wide_as_the_terminal_and_nothing_is_cut(width: int, cell: str) -> None:
    service = replace(testing.memcached(), resources=testing_use.both_sides())
    texts = list(resources.lines(service, width))
    assert all(len(line) <= width for line in texts)
    assert any(line.startswith("run-queue delay") and cell in line for line in texts)
    assert next(line for line in texts if line.startswith("busiest thread  ")).endswith("100 %")
    assert not [line for line in texts if "system" in line]  # a part of what is above


def test_a_record_without_samples_has_no_lines() -> None:
    assert list(resources.lines(testing.memcached(), 79)) == []


def test_a_trend_of_cpu_time_is_shown_only_where_runs_agree() -> None:
    result = testing_use.both_sides()

    def notes(trend: CpuTrend | None) -> list[str]:
        sides = tuple(replace(side, cpu_trend=trend) for side in result.sides)
        return [text for text in resources.notes(replace(result, sides=sides)) if "CPU of" in text]

    assert notes(None) == []
    (first, second) = notes(CpuTrend(per_s=0.01, lo=0.004, hi=0.016, runs=5))
    assert "grows within a run (+0.4 to +1.6 % of its CPUs each second, 5 runs)" in first
    assert first.startswith("highest load within QoS")
    assert second.startswith("first that misses it")
    assert "no shown trend" in notes(CpuTrend(per_s=0.01, lo=-0.004, hi=0.024, runs=3))[0]
    assert "shrinks" in notes(CpuTrend(per_s=-0.01, lo=-0.02, hi=-0.001, runs=3))[0]
    single = notes(CpuTrend(per_s=-0.005, lo=None, hi=None, runs=1))[0]
    assert "changes by -0.5 % of its CPUs each second in the only run" in single


def test_a_load_that_is_borderline_is_not_named_as_one_that_misses() -> None:
    result = testing_use.both_sides()
    holds, violated = result.sides

    def heads(chance: float | None) -> tuple[str, ...]:
        sides = (replace(holds, chance=0.96), replace(violated, chance=chance))
        use = replace(result, sides=sides)
        service = replace(testing.memcached(), resources=use)
        text = next(line for line in resources.lines(service, 120) if line.startswith("resource "))
        return (*resources.heads(use)[1:3], text)

    sure, may = heads(0.05), heads(0.44)
    assert sure[1].startswith("first that misses it, ")
    assert "  misses, " in sure[2]
    assert may[1].startswith("first that may miss it, ")
    assert "  may miss, " in may[2]
    assert may[0] == sure[0]
    doubtful = replace(result, sides=(replace(holds, chance=0.6), violated))
    assert resources.heads(doubtful)[1].startswith("highest load that may be within QoS, ")
    assert resources.notes(doubtful)[0].startswith("highest load that may be within QoS: ")


def test_what_the_sampler_used_at_most_is_rounded_up() -> None:
    result = replace(testing_use.both_sides(), probe_share=(0.002, 0.00441))
    assert "the sampler used 0.2 % of one CPU, 0.45 % at most" in resources.notes(result)
