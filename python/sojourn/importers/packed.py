"""HdrHistograms in base64, as several tools write them."""

from __future__ import annotations

from sojourn.errors import StoreFault
from sojourn.importers.file import fault
from sojourn.samples import histogram
from sojourn.stats.times import Times


def decoded(packed: str, at: str, *, unit_ns: float) -> Times:
    """An HdrHistogram in base64, with times in a unit.

    Raises:
        SpecFault: it is none.
    """
    try:
        bins = histogram.decode(packed, at=at)
    except StoreFault as error:
        raise fault(error.what, at) from None
    return Times(lo_ns=bins.lo_ns * unit_ns, hi_ns=bins.hi_ns * unit_ns, count=bins.count)
