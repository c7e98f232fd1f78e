"""What is reported about a service that ran on translated CPUs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sojourn.analysis import factors, service
from sojourn.places.place import EMULATED
from sojourn.plan.setting import Setting
from sojourn.stats.log_ratio_contrasts import Contrast

KEY = "services.web.place"


def doubt(**emulated: bool) -> str:
    """The doubt about `vm` beside `local`, by level: was it emulated?"""
    levels = [Setting.of({KEY: level}) for level in emulated]
    result: Any = SimpleNamespace(
        parts=[SimpleNamespace(levels=each) for each in levels],
        findings=[
            SimpleNamespace(setup=((EMULATED, "why"),) if so else ()) for so in emulated.values()
        ],
    )
    return factors._emulated(result, Contrast(tuple(levels), KEY, "local", "vm", False))  # noqa: FBT003


@pytest.mark.parametrize("level", ["vm", "local"])
def test_a_ratio_with_one_emulated_side_is_first_of_all_the_translators(level: str) -> None:
    text = doubt(**{name: name == level for name in ("local", "vm")})
    assert text.startswith(f"{level} was emulated (TCG)")


def test_alike_sides_compare() -> None:
    assert doubt(local=False, vm=False) == doubt(local=True, vm=True) == ""


def test_a_service_that_was_emulated_is_doubted() -> None:
    (text,) = service._circumstances((("place", "vm"), (EMULATED, "no /dev/kvm")))
    assert "times are a translator's" in text
    assert not list(service._circumstances((("place", "vm"),)))
