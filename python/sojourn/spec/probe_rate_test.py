"""The rate of a study's probe, as a number or as a text."""

from __future__ import annotations

import pytest

from sojourn import spec, units


@pytest.mark.parametrize("rate", ["1234567", "123456.7", "100"])
def test_a_rate_that_is_a_number_is_the_one_that_is_asked(rate: str) -> None:
    study = spec.load("max_load_memcached", profile="quick", overrides=[f"probe={rate}"])
    assert units.parse_count(study.probe) == float(rate)
