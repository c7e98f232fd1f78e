"""What rules may change: of best-effort groups all, of a service only what is theirs to set."""

from __future__ import annotations

import pytest

from sojourn.controllers.look import Allocation, Change, Knob, Level
from sojourn.controllers.named import rule
from sojourn.errors import RunFault
from sojourn.manage.checks import check
from sojourn.manage.config import GroupSpec
from sojourn.manage.groups import Managed
from sojourn.manage.testing import TREE

FOREIGN = "program:true"  # it is never started
WEIGHT = 80


def checked(name: str, group: str, knob: Knob, level: Level) -> str:
    """The group that a rule may change."""
    specs = {
        "web": GroupSpec(role="latency-critical", cgroup="/web", target="1ms"),
        "batch": GroupSpec(role="best-effort", cgroup="/batch"),
    }
    start = Allocation(weight=WEIGHT)
    groups = {
        label: Managed(label, spec, (0, 1, 2, 3), TREE, allocation=start, start=start)
        for label, spec in specs.items()
    }
    change = Change(group=group, knob=knob, level=level, reason="")
    return check(change, groups, rule(name, {})).name


@pytest.mark.parametrize(
    ("knob", "level"),
    [
        ("frozen", True),
        ("frozen", False),
        ("quota", 0.001),
        ("quota", None),
        ("io", 1e6),
        ("memory", 4096),
        ("idle", True),
        ("cores", 0),
        ("weight", 1),
        ("weight", WEIGHT - 1),
        ("policy", "idle"),
        ("egress", 1e6),
        ("frequency", 1e9),
        ("ways", 1),
        ("bandwidth", 10),
    ],
)
def test_a_foreign_rule_takes_nothing_from_a_service(knob: Knob, level: Level) -> None:
    with pytest.raises(RunFault, match=f"may not set {knob} {level} of web: ") as caught:
        checked(FOREIGN, "web", knob, level)
    assert caught.value.at == f"controller {FOREIGN}"


@pytest.mark.parametrize(
    ("knob", "level"),
    [("cores", 1), ("cores", 4), ("cores", None), ("weight", WEIGHT), ("weight", 1000)],
)
def test_it_parts_the_cores_and_gives_weight(knob: Knob, level: Level) -> None:
    assert checked(FOREIGN, "web", knob, level) == "web"


@pytest.mark.parametrize(
    ("knob", "level"),
    [
        ("frozen", True),
        ("quota", 0.001),
        ("io", 1e6),
        ("memory", 4096),
        ("idle", True),
        ("cores", 0),
        ("weight", 1),
        ("policy", "idle"),
        ("egress", 1e6),
        ("frequency", 1e9),
        ("ways", 1),
        ("bandwidth", 10),
    ],
)
def test_a_best_effort_group_gives_way_in_every_knob(knob: Knob, level: Level) -> None:
    assert checked(FOREIGN, "batch", knob, level) == "batch"


@pytest.mark.parametrize(
    ("name", "knob", "level"),
    [
        ("captain", "quota", 0.5),
        ("parties", "cores", 1),
        ("osml-gates", "cores", 1),
        ("clite", "cores", 1),
        ("ream", "cores", 2),
    ],
)
def test_a_published_rule_sets_what_its_paper_sets(name: str, knob: Knob, level: Level) -> None:
    assert checked(name, "web", knob, level) == "web"
    with pytest.raises(RunFault, match=f"of a service it sets {knob}\n"):
        checked(name, "web", "frozen", level=True)


def test_a_rule_that_sets_no_knob_of_a_service_may_set_none() -> None:
    with pytest.raises(RunFault, match="of a service it sets no knob"):
        checked("static", "web", "cores", 1)


def test_a_level_or_a_group_that_there_is_not_is_refused() -> None:
    with pytest.raises(RunFault, match=r"batch cannot be given cores 1\.5: cores: .* integer"):
        checked(FOREIGN, "batch", "cores", 1.5)
    with pytest.raises(RunFault, match="web cannot be given cores 5: cores is from 0 to 4"):
        checked(FOREIGN, "web", "cores", 5)
    with pytest.raises(RunFault, match="wants to change other") as caught:
        checked(FOREIGN, "other", "cores", 1)
    assert "web, batch" in caught.value.fix


def test_a_number_that_no_float_holds_is_refused_as_any_other() -> None:
    with pytest.raises(RunFault, match="weight is from 0"):
        checked(FOREIGN, "web", "weight", 10**400)
    with pytest.raises(RunFault, match="the service had 80 before"):
        checked(FOREIGN, "web", "weight", -(10**400))


@pytest.mark.parametrize(("knob", "level"), [("weight", "50"), ("cores", "1")])
def test_a_level_of_another_type_is_refused_of_a_service_too(knob: Knob, level: Level) -> None:
    with pytest.raises(RunFault, match=f"web cannot be given {knob} {level}"):
        checked(FOREIGN, "web", knob, level)
