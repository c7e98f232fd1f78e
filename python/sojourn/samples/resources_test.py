"""Samples of resources as a run's summary keeps them."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from sojourn.samples import resources
from sojourn.samples.resources import Resources

OWN = Resources(
    names=("service_cpu_share", "disk_read_bytes_per_s"),
    values=np.array([[0.25, np.nan, 0.5], [1e6, 2e6, np.nan]], dtype="<f4"),
    capacity={"disk_read_bytes_per_s": 3e6},
    not_counted={"llc_bytes": "no resctrl"},
    late=2,
    events={"process_ended": 1},
    probe_share=0.125,
    is_apart=True,
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
