"""Loads in requests/s beside loads as shares of max RPS: read, and refused where they do not go.

With rates alone nothing has to be measured first, and no load is offered beyond them: the way to
look at a service that others use meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sojourn import units

if TYPE_CHECKING:
    from sojourn.spec.models import Study
    from sojourn.spec.service import ServiceSpec

ASKED = "asked"  # max_rps: the highest of the rates
AXES = ("no_drop", "qos")  # definitions of max RPS that are measured in any case


def as_texts(inputs: object) -> object:
    """A list in which numbers are texts, too: 20000 is "20000"; what is no list stays."""
    if not isinstance(inputs, list | tuple):
        return inputs
    is_plain = [isinstance(one, int | float) and not isinstance(one, bool) for one in inputs]
    return tuple(_text(one) if yes else one for one, yes in zip(inputs, is_plain, strict=True))


def _text(rate: float) -> str:
    """A number as a text; an integer may be too large for a float."""
    return str(rate) if isinstance(rate, int) else f"{rate:.10g}"


def ascending(inputs: Sequence[str]) -> tuple[str, ...]:
    """Rates in the order of loads.

    Raises:
        ValueError: one is no load, or comes twice.

    >>> ascending(["20k", "500"])
    ('500', '20k')
    """
    results = {text: units.parse_count(text) for text in inputs}
    for text, rps in results.items():
        if rps <= 0:
            raise ValueError(f"'{text}' is not an offered load; give a rate above 0")
    if len(set(results.values())) < len(inputs):
        raise ValueError("rates holds a load twice; repeats says how often each is measured")
    return tuple(sorted(inputs, key=lambda text: results[text]))


def refuse_both(inputs: Sequence[str], fractions: Sequence[float]) -> None:
    """ValueError unless loads stand in one of both."""
    if inputs and fractions:
        raise ValueError(
            "loads stand in rates (requests/s) and in fractions (shares of max RPS); leave one of "
            "them out"
        )
    if not inputs and not fractions:
        raise ValueError('there are no loads; give fractions = [0.1, 0.5, 0.9], or rates = ["20k"]')


def refuse(study: Study) -> None:
    """ValueError where rates, or the axis that they give, do not go with what else is asked."""
    named = [service.label for service in study.services if service.max_rps == ASKED]
    if not study.run.rates:
        if named:
            raise ValueError(
                f'max_rps of {named[0]} is "asked", and run.rates asks for no load; '
                'give run.rates, or max_rps = "achieved_peak"'
            )
        return
    asked = {name for service in study.services for name in service.measure}
    shares = sorted(asked & study.in_shares)
    what = "trace = true" if study.trace else f"measure = {shares}" if shares else ""
    if what:
        raise ValueError(
            f"run.rates are requests/s, and {what} needs shares of max RPS; give run.fractions"
        )
    if study.factors and any(peaks(study, service) for service in study.services):
        raise ValueError(
            "with factors each combination has its own max RPS, so equal run.rates are different "
            'shares of it; give run.fractions, or measure = ["sweep"] and a bound alone'
        )


def peaks(study: Study, service: ServiceSpec) -> bool:
    """Whether max RPS of a service is measured: not where its loads are rates, and suffice."""
    if not study.run.rates:
        return True
    is_bound_set = service.qos is None or service.qos.rule == "given"
    is_more = not study.in_rates.issuperset(service.measure)
    return is_more or not is_bound_set or service.max_rps in AXES
