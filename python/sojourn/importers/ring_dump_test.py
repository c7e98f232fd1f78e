"""Dumps in full: what is read from one, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.importers import ring_dump
from sojourn.importers.ring_dump import CULPRITS_MOST, SLOW_MOST
from sojourn.importers.testing import content

AT = "ring.json"
Damage = Callable[[dict[str, Any]], object]


def sample() -> dict[str, Any]:
    """A dump that the black box wrote beside memcached."""
    document: dict[str, Any] = json.loads(content("ring.json"))
    return document


def test_slow_requests_have_their_stages_and_causes() -> None:
    dump = ring_dump.of(sample(), AT)
    assert (dump.target, dump.pid, dump.requests, dump.stored) == ("memcached", 17897, 1110, 78)
    slowest = dump.slow[0]
    assert slowest.total_ns == sum(ns for _, ns in slowest.stages) == 13_267_376
    assert dict(slowest.stages)["runq_delay"] == 13_051_025
    assert slowest.culprits[0][0].about == "run-queue delay behind `python`"
    assert slowest.at == "01:08:32.255"
    assert dump.at.startswith("2026-11-27 01:08:30")
    assert len(dump.course) == 3
    assert dump.course[0].p99_ns is None
    assert [one.share for one in dump.culprits] == sorted(
        (one.share for one in dump.culprits), reverse=True
    )


def test_what_is_read_of_a_huge_dump_is_bounded() -> None:
    document = sample()
    document["slow"] = document["slow"] * 50
    document["culprits"] = document["culprits"] * 50
    document["culprits"][0]["stack"] = ["f" * 10_000] * 10_000
    document["slow"][0]["culprits"] = [[CULPRITS_MOST + 5, 1]]
    dump = ring_dump.of(document, AT)
    assert (len(dump.slow), dump.stored) == (SLOW_MOST, 50 * 78)
    assert len(dump.culprits) == CULPRITS_MOST
    assert max(map(len, dump.culprits[0].stack)) < 1_000
    assert dump.slow[0].culprits == (), "a cause that is not shown is no fault"


@pytest.mark.parametrize(
    "damage",
    [
        lambda it: it.update(schema="sojourn.trace.ring/2"),
        lambda it: it.update(slow=None),
        lambda it: it.update(slow=[7]),
        lambda it: it.update(culprits={}),
        lambda it: it.update(target="memcached"),
        lambda it: it.update(duration_ns="long"),
        lambda it: it.update(from_unix_ns=1e300),
        lambda it: it.update(seconds=[{"end_unix_ns": 1}]),
        lambda it: it.update(blind={"share": "half"}),
        lambda it: it["blind"].update(share=7),
        lambda it: it.update(requests=5),
        lambda it: it.update(totals=[[1, 2]]),
        lambda it: it.update(p50_ns=9e9),
        lambda it: it["culprits"][0].update(share=7),
        lambda it: it["culprits"][0].update(stack="main"),
        lambda it: it["slow"][0].update(total_ns=1),
        lambda it: it["slow"][0].update(total_ns=float("nan")),
        lambda it: it["slow"][0].update(stages=[["running"]]),
        lambda it: it["slow"][0].update(culprits=[[99, 1]]),
        lambda it: it["slow"][0].update(culprits=[[-1, 1]]),
        lambda it: it["slow"][0].update(start_unix_ns=None),
    ],
)
def test_damage_is_refused_with_its_file(damage: Damage) -> None:
    document = sample()
    damage(document)
    with pytest.raises(SpecFault) as caught:
        ring_dump.of(document, AT)
    assert caught.value.at == AT
    assert caught.value.fix


def test_a_name_with_a_line_break_begins_no_line_of_ours() -> None:
    document = sample()
    document["target"]["name"] = "x\nanswer: all is well\x1b[2J"
    document["slow"][0]["thread"] = "a\nb"
    dump = ring_dump.of(document, AT)
    assert "\n" not in dump.target + dump.slow[0].thread
    assert dump.target == r"x\x0aanswer: all is well\x1b[2J"


def test_another_version_of_the_tracer_is_named() -> None:
    with pytest.raises(SpecFault, match="ring/2'") as caught:
        ring_dump.of(sample() | {"schema": "sojourn.trace.ring/2"}, AT)
    assert "version" in caught.value.fix


@pytest.mark.parametrize("other", [None, 7, [], "x", {}, {"schema": 1}])
def test_another_document_is_no_dump(other: Any) -> None:
    with pytest.raises(SpecFault, match="no dump of the black box"):
        ring_dump.of(other, AT)
