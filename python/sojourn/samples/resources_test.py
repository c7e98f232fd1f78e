"""Samples of resources as a run's summary keeps them."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from sojourn.samples import resources
from sojourn.samples.resources import ResourceFile, Resources

OWN = Resources(
    names=("service_cpu_share", "disk_read_bytes_per_s"),
    values=np.array([[0.25, np.nan, 0.5], [1e6, 2e6, np.nan]], dtype="<f4"),
    capacity={"disk_read_bytes_per_s": 3e6},
    not_counted={"llc_bytes": "no resctrl"},
    late=2,
    events={"process_ended": 1},
    probe_share=0.125,
    is_apart=True,
    cpu_trend_per_s=0.01,
)


def test_what_was_packed_is_the_same_again() -> None:
    again = resources.unpacked(json.loads(json.dumps(resources.packed(OWN))))
    np.testing.assert_array_equal(again.values, OWN.values)
    for field in fields(OWN):
        if field.name != "values":
            assert getattr(again, field.name) == getattr(OWN, field.name), field.name


def test_without_samples_there_are_none() -> None:
    empty = replace(OWN, names=(), values=np.empty((0, 0), dtype="<f4"))
    assert resources.unpacked(resources.packed(empty)).values.size == 0


def test_what_is_damaged_is_refused() -> None:
    table = {**resources.packed(OWN), "values": "AAAA"}
    with pytest.raises((KeyError, TypeError, ValueError)):
        resources.unpacked(table)


def table_of(shares: list[float | None], length_s: float = 1.0) -> ResourceFile:
    """A file with a sample each second, all of them measured."""
    count, second = len(shares), 1_000_000_000
    return ResourceFile.model_validate(
        {
            "schema": "sojourn.resources/1",
            "period_s": 1.0,
            "cpus": 2,
            "probe": {"cpu_s": 0.0, "wall_s": 1.0, "is_apart": True},
            "end_unix_ns": [(nth + 1) * second for nth in range(count)],
            "length_s": [length_s] * count,
            "is_late": [False] * count,
            "columns": {"service_cpu_share": shares},
            "measured_unix_ns": [0, count * second],
        }
    )


@pytest.mark.parametrize("slope", [0.02, -0.03, 0.0])
def test_the_trend_of_cpu_time_is_the_slope_of_its_samples(slope: float) -> None:
    shares: list[float | None] = [0.5 + slope * nth for nth in range(8)]
    shares[3] = None
    trend = resources.measured(table_of(shares)).cpu_trend_per_s
    assert trend == pytest.approx(slope, abs=1e-12)


def test_of_few_samples_no_trend_is_reported() -> None:
    assert resources.measured(table_of([0.1, 0.2, 0.3, 0.4])).cpu_trend_per_s is None
    assert resources.measured(table_of([])).cpu_trend_per_s is None
