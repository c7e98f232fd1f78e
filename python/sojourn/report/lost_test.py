"""Runs that are not believed: a sentence for all that share the reason, once."""

from __future__ import annotations

import re
from dataclasses import replace

from sojourn.findings.findings import Findings
from sojourn.findings.point_row import PointRow
from sojourn.plan.points import Verdict
from sojourn.report import page_test, people, testing, text, verdict_of_all
from sojourn.report import parts as parts_of
from sojourn.report.writers import WRITERS
from sojourn.testing_questions import parts

STOPPED = (
    "client stopped: the client did not run for 47.5 ms in 28 outages: {} % of the time, 1.00 % "
    "may be; use a quieter host or CPUs of its own"
)
LATE = "timely: 91.3 % of requests were sent within 50.0 µs, 97.5 % must be; lower the rate"


def row(n: int, *reasons: str, is_believed: bool = False) -> PointRow:
    return PointRow(
        key=f"memcached/sweep/b{n}",
        service="memcached",
        levels=(),
        phase="sweep",
        repeat=n,
        fraction=0.5,
        offered_rps=1e4,
        achieved_rps=1e4,
        p50_ns=1e5,
        p99_ns=2e5,
        verdict=Verdict.HOLDS if is_believed else Verdict.UNKNOWN,
        reasons=reasons,
        is_believed=is_believed,
    )


ROWS = (
    row(0, LATE),
    *(row(n, STOPPED.format(share), LATE) for n, share in enumerate((1.1, 7.02, 2.4), 1)),
    row(4, is_believed=True),
    row(5, "nothing was answered"),
)


def test_runs_count_once_by_their_first_reason_and_the_most_come_first() -> None:
    first, second, third = people.lost(ROWS)
    assert first == (
        "3 of 6 runs are not valid: client stopped 1.1–7 %. For instance: the client did not"
        " run for 47.5 ms in 28 outages: 2.4 % of the time, 1.00 % may be. What would help most:"
        " end other programs, or give the client a CPU on which nothing else runs."
    )
    assert second.startswith("1 of 6 runs is not valid: client sent late. In full: 91.3 %")
    assert third == "1 of 6 runs is not valid: nothing was answered."
    assert sum("What would help most" in message for message in people.lost(ROWS)) == 1


def test_where_all_is_believed_nothing_is_reported() -> None:
    assert people.lost(()) == []
    assert people.lost([row(0, "undecided alone: 3 of 90", is_believed=True)]) == []


def study() -> Findings:
    """A study with these runs, whose service has the reason of one of them too."""
    base = testing.findings()
    reasons = (f"memcached: {STOPPED.format(2.4)}", *base.reasons)
    return replace(base, points=ROWS, reasons=reasons, sections={})


def test_the_terminal_says_each_reason_once_and_first() -> None:
    message = text(study(), parts(), 100)
    doubts = re.sub(r"\s+", " ", message[message.index("to doubt ") :])
    assert doubts.partition("- ")[2].startswith("3 of 6 runs are not valid: client stopped")
    assert doubts.count("did not run for") == 1
    assert doubts.count("sent within") == 1, "nor do services repeat it"
    assert "nginx: 2 of 10 loads are unknown" in doubts
    assert "5,230 requests, needs 5,661" in doubts, "what is no run's stays"


def test_the_page_says_it_where_the_noise_is() -> None:
    html = page_test.built(study())
    noise = html[html.index('id="noise"') : html.index('id="again"')]
    assert noise.count("3 of 6 runs are not valid: client stopped 1.1–7 %") == 1


def test_loads_that_are_not_believed_are_one_sentence() -> None:
    assert people.invalid_loads(testing.nginx()) == (
        "Not valid at 60 % and 90 % load (client sent late): numbers in brackets decide nothing."
    )
    html = page_test.built(testing.findings())
    assert html.count("numbers in brackets decide nothing") == 2, "one for each service"
    assert "no number:" not in html
    believed = replace(testing.memcached(), points=testing.memcached().points[:8])
    assert people.invalid_loads(believed) == ""


def _written(findings: Findings) -> list[str]:
    """The tables of loads as Markdown and as LaTeX, without their escapes."""
    with parts_of.using(parts()):
        files = [WRITERS[name].content(findings).decode() for name in ("markdown", "latex")]
    return [file.replace("\\", "") for file in files]


def test_a_verdict_that_differs_from_its_own_run_is_explained() -> None:
    service = testing.memcached()
    assert verdict_of_all.text(service) == ""
    first = replace(service.points[0], verdict=Verdict.VIOLATED)
    other = replace(service, points=(first, *service.points[1:]))
    message = verdict_of_all.text(other)
    assert message.startswith("At 10 % load the p99 of its own runs lies on the other side")
    assert verdict_of_all.text(replace(other, qos=None)) == ""
    html = page_test.built(replace(testing.findings(), services=(other,)))
    assert "lies on the other side of the bound" in html
    few = replace(first, quantiles=())
    short = replace(service, points=(few, *service.points[1:]))
    message = verdict_of_all.text(short)
    assert message.startswith("At 10 % load the p99 of its own runs is not known, and they do not")
    every = replace(testing.findings(), services=(short,))
    (row,) = [line for line in text(every, parts(), 100).splitlines() if line.startswith("  10 %")]
    assert "✗ violated" in row
    for shown in (text(every, parts(), 100), *_written(every)):
        assert message in " ".join(shown.split()), "the verdict of the row is explained below it"
    missing = replace(few, missed=(0.99, 2e6))
    assert verdict_of_all.text(replace(service, points=(missing, *service.points[1:]))) == ""
