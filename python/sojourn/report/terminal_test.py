import re
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.plan.points import Verdict
from sojourn.report import disturbed, people, testing, text, tiles
from sojourn.testing_questions import parts

GOLDEN = Path(__file__).parent / "golden" / "report.txt"


def test_the_text_is_as_it_was_reviewed() -> None:
    assert text(testing.findings(), parts()) + "\n" == GOLDEN.read_text("utf-8")


@pytest.mark.parametrize("case", testing.degenerate())
@pytest.mark.parametrize("width", [60, 70, 80, 100])
def test_it_fits(case: str, width: int) -> None:
    result = testing.degenerate()[case]
    lines = text(result, parts(), width).splitlines()
    assert max(len(line) for line in lines) <= width
    words = re.sub(r"\s+", " ", " ".join(lines))
    for service in result.services:
        assert re.sub(r"\s+", " ", tiles.of_service(service).line) in words
    assert result.services or result.answer in words


@pytest.mark.parametrize("width", [60, 80])
def test_long_levels_and_a_self_check_fit_too(width: int) -> None:
    levels = [(f"services.nginx.params.some_rather_long_name_{n}", "false") for n in range(9)]
    base = testing.findings()
    long = replace(base.services[0], levels=tuple(levels))
    lines = text(replace(base, services=(long,)), parts(), width).splitlines()
    assert max(map(len, lines)) <= width
    assert "against theory" in "\n".join(lines)


def test_colour_adds_nothing_but_colour() -> None:
    plain, painted = (
        text(testing.findings(), parts()),
        text(testing.findings(), parts(), color=True),
    )
    assert painted != plain
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_the_plot_shows_bound_runs_and_what_is_not_believed() -> None:
    lines = text(testing.findings(), parts()).splitlines()
    start = lines.index("p99 sojourn time against offered load, % of max RPS")
    plot = lines[start : start + 21]
    bound = next(line for line in plot if "QoS p99 <= 1 ms" in line)
    assert bound.startswith("     1 ms +--")
    above = "".join(plot[: plot.index(bound)])
    below = "".join(plot[plot.index(bound) + 1 : 18])
    assert above.count("#") == 2  # 80 % and 100 % violate
    assert below.count("o") == 7  # 10 % to 70 % hold
    assert "x" in above  # 90 % is not valid


@pytest.mark.parametrize(
    "reason", ["borderline (P = 0.62)", "borderline: it meets the target with probability 0.62"]
)
def test_a_borderline_load_shows_its_probability_where_the_verdict_would_be(reason: str) -> None:
    base = testing.memcached()
    point = replace(base.points[7], verdict=Verdict.UNKNOWN, reasons=(reason,))
    result = replace(testing.findings(), services=(replace(base, points=(point,)),))
    lines = text(result, parts()).splitlines()
    assert any(line.startswith("  80 %") and line.endswith("? P 0.62") for line in lines)
    assert any("probability that this load meets the target" in line for line in lines)
    assert "P = 0.62" in people.remark(point)
    assert people.chance(base.points[7]) == ""


def test_where_others_had_the_servers_cpus_both_readings_are_reported() -> None:
    base = testing.memcached()
    assert disturbed.text(base) == ""
    apart = replace(next(e for e in base.points[3].quantiles if e.q == 0.99), value=5e4)
    loaded = replace(base.points[3], undisturbed=apart, disturbed_share=0.28)
    result = replace(base, points=(*base.points[:3], loaded, *base.points[4:]))
    message = disturbed.text(result)
    assert "40 % load" in message
    assert "and 50.0 µs (28 % of requests disturbed)" in message
    whole = text(replace(testing.findings(), services=(result,)), parts())
    assert " ".join(message.split()) in " ".join(whole.split())


def test_loads_without_an_undisturbed_number_are_named_once_and_apart() -> None:
    base = testing.memcached()
    none = replace(next(e for e in base.points[3].quantiles if e.q == 0.99), value=None)
    points = [replace(p, undisturbed=none, disturbed_share=0.9) for p in base.points[:2]]
    message = disturbed.text(replace(base, points=(*points, *base.points[2:])))
    assert message == (
        "Other tasks used the server's CPUs. Too few requests are undisturbed for a p99 at "
        "10 % (90 % of requests disturbed) and 20 % (90 %)."
    )


def test_a_load_without_its_tail_is_an_arrow_upwards_in_the_plot() -> None:
    lines = text(testing.findings(), parts()).splitlines()
    start = lines.index("nginx " + "=" * 74)
    plot = lines[start : start + 40]
    column = 11 + round(66 * 0.7)
    arrow = next(n for n, line in enumerate(plot) if line[column : column + 1] == "^")
    shaft = [line[column] for line in plot[arrow - 3 : arrow]]
    assert set(shaft) <= {":", "."}  # runs of the load may stand on its way
    assert "≥1.80 ms" in "".join(plot)


def test_one_more_reason_is_shown_and_not_counted() -> None:
    def shown(count: int) -> str:
        reasons = tuple(f"{'abcde'[n]} is wrong" for n in range(count))
        return text(replace(testing.findings(), reasons=reasons), parts())

    assert "- d is wrong" in shown(4)
    assert "more reasons" not in shown(4)
    assert "- and 2 more reasons" in shown(5)
