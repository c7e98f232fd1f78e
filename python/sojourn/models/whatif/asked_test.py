"""What is asked of the simulator is refused where it would change nothing."""

from __future__ import annotations

import pytest

from sojourn.errors import SpecFault
from sojourn.models.whatif.asked import combinations


@pytest.mark.parametrize(
    ("name", "levels", "others"),
    [
        ("startup", ("5s", "60s"), {}),
        ("startup", ("nan",), {"scale": ("none",)}),
        ("backoff", ("1ms",), {"timeout": ("9ms",)}),
        ("budget", ("10%",), {"retries": ("0",), "timeout": ("9ms",)}),
        ("retries", ("0", "3"), {}),
        ("retries", ("3",), {"errors": ("0",)}),
    ],
)
def test_levels_that_change_nothing_are_refused(
    name: str, levels: tuple[str, ...], others: dict[str, tuple[str, ...]]
) -> None:
    with pytest.raises(SpecFault, match=f"--{name} changes nothing without") as caught:
        list(combinations({name: levels, **others}))
    assert caught.value.at == f"--{name}"


@pytest.mark.parametrize(
    "levels",
    [
        {"startup": ("5s",), "scale": ("none", "1..8")},
        {"retries": ("0", "3"), "errors": ("1%",), "backoff": ("1ms",)},
        {"retries": ("3",), "timeout": ("9ms",), "budget": ("10%",)},
        {"retries": ("0",), "backoff": ("0",), "budget": ("none",)},
    ],
)
def test_levels_that_may_change_something_are_asked(levels: dict[str, tuple[str, ...]]) -> None:
    assert list(combinations(levels))
