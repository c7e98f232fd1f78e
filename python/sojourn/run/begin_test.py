"""What a knob is told at the beginning of a life."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.knobs import Offered
from sojourn.run.begin import find, let_know


def test_a_level_that_is_refused_beside_others_is_a_fault_of_the_point() -> None:
    reports = []

    def among(label: str, offered: Mapping[str, Offered]) -> None:
        reports.append((label, offered))
        if len(offered) > 1:
            raise HostFault("the kernel refuses 95 %", at="a.rt_quota", fix="ask for less")

    live: Any = SimpleNamespace(label="a", knobs={"rt_quota": SimpleNamespace(among=among)})
    both = {"a": Offered(load=0.5), "b": Offered(load=0.5)}
    let_know(live, "rt_quota", {})
    with pytest.raises(RunFault, match="refuses 95") as caught:
        let_know(live, "rt_quota", both)
    assert (caught.value.at, caught.value.fix) == ("a.rt_quota", "ask for less")
    assert reports == [("a", {}), ("a", both)]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("nginx", "nginx"), "2, the first is nginx (7); CPU time is theirs, without servers"),
        ((), "cannot be seen from here"),
    ],
    ids=["proxy", "unseen"],
)
def test_whose_cpu_time_is_counted_is_in_the_record(names: tuple[str, ...], wanted: str) -> None:
    members = [SimpleNamespace(name=name, pid=7 + nth) for nth, name in enumerate(names)]
    service: Any = SimpleNamespace(address=lambda: "h:1", process=lambda: None)
    endpoint = SimpleNamespace(target="http://h:1/")
    live: Any = SimpleNamespace(
        label="a",
        notes=(),
        answers=lambda: True,
        members=lambda: members,
        service=SimpleNamespace(endpoint=lambda _: endpoint),
    )
    find(live, service)
    ((what, text),) = live.notes
    assert what == "processes"
    assert text.startswith(wanted)
