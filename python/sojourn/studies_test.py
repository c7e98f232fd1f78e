"""Every study that comes with the lab: read, planned, and told from every other."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.questions import PLANS
from sojourn.spec.studies import STUDIES

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
    text = " ".join(line.lstrip("# ") for line in head[0].splitlines())
    assert "?" in text
    for word in ("What to expect:", "It takes: quick", "It needs:"):
        assert word in text


def items(text: str) -> set[str]:
    """Items of the papers that a text names; "P4 to P7" and "L10-L13" are all of them.

    >>> sorted(items("(L3, C8 to C10; L5-L6, M20)"))
    ['C10', 'C8', 'C9', 'L3', 'L5', 'L6']
    """
    matches = set(re.findall(r"\b[LCP][1-9]\d?\b", text))
    for kind, low, high in re.findall(r"\b([LCP])(\d+)(?:-| to )[LCP]?(\d+)\b", text):
        matches |= {f"{kind}{number}" for number in range(int(low), int(high) + 1)}
    return matches


@pytest.mark.parametrize("name", ALL)
def test_what_a_study_says_to_measure_of_the_papers_is_in_its_key(name: str) -> None:
    """The ids in brackets behind the question; the rest of the head may speak of others."""
    head = re.match(r"(#.*\n)+", text_of(name))
    assert head is not None
    opening = " ".join(head[0].split("#\n")[0].replace("#", " ").split())
    brackets = re.findall(r"\(([^()]*\b[LCPM]\d+[^()]*)\)", opening)[:1]
    measured = set(tomllib.loads(text_of(name)).get("papers", ()))
    assert items(" ".join(brackets)) <= measured
    assert not measured or brackets, "name them behind the question"


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
def test_a_study_is_alone_in_its_file(name: str) -> None:
    path = Path(STUDIES / f"{name}.toml")
    assert spec.load(path).name == name
