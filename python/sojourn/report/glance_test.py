"""What `sojourn try` says: the answer in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.analysis import lqos
from sojourn.findings.highest_load import MaxLoad
from sojourn.findings.limit import By, Limit
from sojourn.plan.axis import Target
from sojourn.plan.points import Verdict
from sojourn.report import glance, testing
from sojourn.spec import Qos, QosRule, ServiceSpec
from sojourn.testing_questions import parts


@pytest.mark.parametrize(
    ("asked", "target"),
    [
        (Qos(q=0.99, bound="1ms"), "p99 ≤ 1 ms"),
        (Qos(q=0.99, rule=QosRule.LOW_LOAD), "p99 ≤ 1 ms (5 times p99 at 20 % load, 200 µs)"),
        (
            Qos(q=0.95, rule=QosRule.LOW_LOAD, factor=3, at_fraction=0.1),
            "p95 ≤ 1 ms (3 times p95 at 10 % load, 333 µs)",
        ),
    ],
)
def test_a_bound_that_was_measured_says_where_it_comes_from(asked: Qos, target: str) -> None:
    spec = ServiceSpec(kind="memcached", measure=("sweep",), qos=asked)
    known = lqos.qos(spec, Target(q=asked.q, bound_ns=1e6, rule=asked.rule))
    service = replace(testing.memcached(), qos=known)
    assert f" fit within {target}: http://x/ (" in glance.sentence(service, "http://x/")


def test_an_answer_that_is_unknown_has_that_word() -> None:
    """An interval that is too wide to decide by looked like an answer."""
    service = testing.memcached()
    assert "unknown" not in glance.sentence(service, "http://x/")
    search = service.section(MaxLoad)
    assert search is not None
    wide = replace(search, verdict=Verdict.UNKNOWN, reasons=("its ends differ by 5.4",))
    open_ = replace(service, verdict=Verdict.UNKNOWN, sections={"max_load": wide})
    message = glance.sentence(open_, "http://x/")
    assert message.endswith(" The answer is unknown: its ends differ by 5.4.")
    none = replace(service, verdict=Verdict.UNKNOWN, sections={}, max_rps=None, reasons=("no",))
    assert glance.sentence(none, "http://x/") == "How much load http://x/ takes is unknown: no."


def test_without_a_valid_load_a_table_takes_the_place_of_an_empty_plot() -> None:
    service = testing.memcached()
    drawn = glance.text(service, parts(), target="http://x/", command="c")
    assert "95 % interval" not in drawn
    assert "p99 sojourn time against offered load" in drawn
    void = [replace(p, verdict=Verdict.UNKNOWN, is_believed=False) for p in service.points]
    of_void = replace(service, points=tuple(void))
    listed = glance.text(of_void, parts(), target="http://x/", command="c")
    assert "95 % interval" in listed
    assert "against offered load" not in listed
    assert all(len(line) <= 80 for line in listed.splitlines())


def test_a_quantile_that_is_not_shown_is_no_doubt() -> None:
    """p99.9 is in no line of `sojourn try`, and its short sample pushed others out of the list."""
    service = testing.memcached()
    why = "too few requests: {} needs 2,000, there are 214"
    first = service.points[0]

    def doubted(q: float) -> list[str]:
        quantiles = tuple(
            replace(e, value=None, refused=why.format(f"p{100 * q:g}") if e.q == q else "")
            for e in first.quantiles
        )
        point = replace(first, quantiles=quantiles)
        return [*glance.doubts(replace(service, points=(point,)))]

    assert any("p99 needs 2,000" in one for one in doubted(0.99))
    assert not any("needs 2,000" in one for one in doubted(0.999))


def test_who_refuses_is_in_the_sentence_once() -> None:
    """The rate of a limiter before a service looked like what the service can do."""
    service = testing.memcached()
    limit = Limit(by=By.REFUSALS, from_rps=500.0, text="limit: from 500 requests/s on, refused")
    limited = replace(service, limit=limit)
    message = glance.sentence(limited, "http://x/")
    assert message.endswith(". Limit: from 500 requests/s on, refused.")
    search = service.section(MaxLoad)
    assert search is not None
    refused = replace(search, verdict=Verdict.UNKNOWN, reasons=(limit.text,))
    open_ = replace(limited, verdict=Verdict.UNKNOWN, sections={"max_load": refused})
    assert glance.sentence(open_, "http://x/").count("refused") == 1
