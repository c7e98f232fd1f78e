"""What a knob is told at the beginning of a life."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.errors import HostFault, RunFault
from sojourn.knobs import Offered
from sojourn.run.begin import let_know


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
