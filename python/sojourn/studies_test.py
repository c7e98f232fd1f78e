"""Every study that comes with the lab: read, planned, and told from every other."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.questions import PLANS
from sojourn.spec.load import STUDIES

ALL = spec.names()


def text_of(name: str) -> str:
    return (STUDIES / f"{name}.toml").read_text(encoding="utf-8")


def test_seeds_differ_but_for_those_that_share_them_on_purpose() -> None:
    """Three of the first studies had one seed; another one would change what they draw."""
    first = {"latency_vs_load", "max_load_memcached", "selfcheck"}
    seeds = Counter(tomllib.loads(text_of(name))["seed"] for name in ALL if name not in first)
    assert [seed for seed, count in seeds.items() if count > 1] == []


@pytest.mark.parametrize("name", ALL)
def test_a_study_opens_with_its_question_and_says_what_it_expects_takes_and_needs(
    name: str,
) -> None:
    head = re.match(r"(#.*\n)+", text_of(name))
    assert head is not None
    said = " ".join(line.lstrip("# ") for line in head[0].splitlines())
    assert "?" in said
    for word in ("What to expect:", "It takes: quick", "It needs:"):
        assert word in said


@pytest.mark.parametrize("name", ALL)
def test_a_study_is_read_under_its_name_and_every_combination_is_a_study(name: str) -> None:
    study = spec.load(name, profile="quick", asks=PLANS.mistakes)
    assert study.name == name
    for service in study.services:
        combinations = study.combinations(service.label)
        assert combinations
        for levels in combinations:
            assert not study.under(levels).factors


@pytest.mark.parametrize("name", ALL)
def test_a_study_stands_alone_in_its_file(name: str) -> None:
    path = Path(STUDIES / f"{name}.toml")
    assert spec.load(path).name == name
