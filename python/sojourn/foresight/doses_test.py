"""Levels that mean the same, and levels that do not."""

from __future__ import annotations

import pytest

from sojourn.foresight.doses import Dose, dose_of, is_meant, meaning


@pytest.mark.parametrize(
    ("level", "dose"),
    [
        ("noise:llc@50%", Dose("llc", 0.5)),
        ("noise:kind=llc,intensity=50%", Dose("llc", 0.5)),
        ("noise:llc@50%,where=server", Dose("llc", 0.5)),
        ("noise:llc@50%,where=free", Dose("llc", 0.5, "where=free")),
        ("noise:llc@50%,size=8MiB,where=one", Dose("llc", 0.5, "where=one,size=8MiB")),
        ("noise:disk@50MB/s", None),  # a rate is no share
        ("noise:cpu@50%,where=server + spin", None),
        ("noise:cpu@0%", None),
        ("noise:nothing", None),
        ("batch:xz", None),
    ],
)
def test_a_dose_has_all_its_parameters(level: str, dose: Dose | None) -> None:
    assert dose_of(level) == dose


def test_two_ways_to_write_a_level_mean_the_same_and_two_places_do_not() -> None:
    assert meaning("rival:one") == meaning("rival") != meaning("rival:server")
    assert meaning("batch:kind=xz,intensity=100%") == meaning("batch:xz,where=server")
    assert meaning("mine:x") == "mine:x"
    assert is_meant("batch:xz", "batch:xz,where=free")
    assert not is_meant("batch:xz,where=server", "batch:xz,where=free")
