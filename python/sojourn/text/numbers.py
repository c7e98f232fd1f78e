"""Quantiles and shares as people read them."""

from __future__ import annotations

import math

from sojourn import units

THOUSAND = 1000  # from here on a number without a unit is whole


def percentile(q: float | None) -> str:
    """The word for a quantile; `mean` for None.

    >>> percentile(0.999), percentile(0.5), percentile(None)
    ('p99.9', 'p50', 'mean')
    """
    return "mean" if q is None else f"p{round(q * 100, 6):g}"


def percent(share: float, way: int = 0) -> str:
    """A share in whole percent, small ones with the digits they need; `way` as in `units`.

    >>> percent(0.714), percent(0.0123), percent(0.00004)
    ('71 %', '1.2 %', '0.004 %')
    >>> percent(0.714, 1), percent(0.0129, -1), percent(0.00004, 1), percent(0.0, -1)
    ('72 %', '1.2 %', '0.004 %', '0 %')
    """
    value = 100 * share
    is_small = 0 < abs(value) < 10
    if way:
        digits = 1 - math.floor(math.log10(abs(value))) if is_small else 0
        return f"{units.outward(value, digits, way):g} %"
    return f"{value:.2g} %" if is_small else f"{value:.0f} %"


def load_share(share: float) -> str:
    """A load as a share of max RPS, with the digits by which loads of a study differ.

    >>> load_share(0.7), load_share(0.125), load_share(0.901), load_share(0.904)
    ('70 %', '12.5 %', '90.1 %', '90.4 %')
    """
    return f"{100 * share:.4g} %"


def readable(value: float) -> str:
    """A number without a unit, in as many digits as people read; a CSV file has all of them.

    >>> readable(0.09366666666), readable(12345.678), readable(-1e-7), readable(float("inf"))
    ('0.09367', '12,346', '−1e−07', '∞')
    """
    text = f"{value:,.0f}" if abs(value) >= THOUSAND else f"{value:.4g}"
    return text.replace("inf", "∞").replace("-", "−")
