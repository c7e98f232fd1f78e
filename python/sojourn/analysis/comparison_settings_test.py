"""What differs between the settings of records that are compared."""

from __future__ import annotations

from typing import Any

from sojourn import spec
from sojourn.analysis import comparison_settings
from sojourn.spec import Study


def a_study(**service: Any) -> Study:
    asked = spec.load("max_load_memcached", profile="quick")
    changed = asked.services[0].model_copy(update=service)
    return asked.model_copy(update={"services": (changed, *asked.services[1:])})


def test_targets_and_connections_that_differ_are_named_with_both_values() -> None:
    one, other = a_study(load={"connections": 16}), a_study(load={"connections": 64})
    first, second = comparison_settings.settings([one, other])
    assert first == {"services.0.load.connections": "16"}
    assert second == {"services.0.load.connections": "64"}


def test_a_key_that_one_study_lacks_is_missing_there_and_equal_studies_have_none() -> None:
    first, second = comparison_settings.settings([a_study(load={}), a_study(load={"shape": "x"})])
    assert first == {}
    assert second == {"services.0.load.shape": "x"}
    assert comparison_settings.settings([a_study(), a_study()]) == [{}, {}]


def test_the_seed_and_what_the_facts_have_are_not_repeated() -> None:
    one = a_study()
    other = one.model_copy(update={"seed": 7, "name": "renamed", "neighbour": "spin"})
    assert comparison_settings.settings([one, other]) == [{}, {}]


def test_values_are_text_for_people() -> None:
    texts = [comparison_settings.text(value) for value in (["20k", "40k"], [], None, "", 0, 1.5)]
    assert texts == ["20k, 40k", "none", "none", "none", "0", "1.5"]
