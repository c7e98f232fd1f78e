"""Quantiles and shares as people read them."""

from __future__ import annotations


def percentile(q: float | None) -> str:
    """The word for a quantile; `mean` for None.

    >>> percentile(0.999), percentile(0.5), percentile(None)
    ('p99.9', 'p50', 'mean')
    """
    return "mean" if q is None else f"p{round(q * 100, 6):g}"


def percent(share: float) -> str:
    """A share in whole percent, small ones with the digits they need.

    >>> percent(0.714), percent(0.0123), percent(0.00004)
    ('71 %', '1.2 %', '0.004 %')
    """
    value = 100 * share
    return f"{value:.0f} %" if abs(value) >= 10 or value == 0 else f"{value:.2g} %"


def load_share(share: float) -> str:
    """A load as a share of max RPS, with the digits by which loads of a study differ.

    >>> load_share(0.7), load_share(0.125), load_share(0.901), load_share(0.904)
    ('70 %', '12.5 %', '90.1 %', '90.4 %')
    """
    return f"{100 * share:.4g} %"
