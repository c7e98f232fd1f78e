"""Factors and their levels in a few words."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.findings.findings import Findings
from sojourn.questions.attribution.judge import Attributed
from sojourn.report import labels
from sojourn.spec.levels import level_of, names
from sojourn.stats.quantile_regression import Term


def named(findings: Findings, one: Attributed) -> Mapping[str, tuple[str, str]]:
    """Both levels of each factor in a few words, by the factor's name."""
    keys = {key: None for p in findings.points if p.service == one.service for key, _ in p.levels}
    key_of = {name: key for key, name in names(keys).items()}
    return {
        name: (_label(key_of.get(name, name), low), _label(key_of.get(name, name), high))
        for name, low, high in one.levels
    }


def _label(key: str, level: str) -> str:
    return labels.label(key, level_of(level))


def term_name(term: Term, called: Mapping[str, tuple[str, str]]) -> str:
    """`2 threads`; of two factors `2 threads with nice −10`."""
    return " with ".join(called[name][1] for name in term.factors)
