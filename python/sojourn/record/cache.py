"""What was found of one run by itself, kept in its folder: a report then reads this and no slices.

`summary.json` follows from the run's other files and may be removed at any time. It stands as long
as they have the size and the time of change that it names, and as long as the methods behind it are
written as they were: their own source is part of its name.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sojourn import disk
from sojourn.analysis import run_stats
from sojourn.errors import StoreFault
from sojourn.findings.measured import Alone, Measured
from sojourn.host.usage import resource
from sojourn.plan.points import Outcome
from sojourn.samples import LoadResult, decode, read_json, resources
from sojourn.samples.names import HLOG, LOAD, RAW
from sojourn.stats import times
from sojourn.stats.independence import Batched
from sojourn.store import files

NAME, FORM = "summary.json", "sojourn.summary/3"
# fmt: off
_METHODS = (  # what a summary rests on, the run's files aside: how they are read, and what follows
    "analysis/run_stats.py", "findings/measured.py", "stats/independence.py", "stats/steady.py",
    "stats/times.py", "record/point.py", "record/summarised.py", "record/cache.py",
    "samples/contract.py", "samples/histogram.py", "samples/interval.py", "samples/lateness.py",
    "samples/raw.py", "samples/resources.py", "host/usage/resource.py",
)
# fmt: on
_PLAIN = (
    "raw_share",
    "mean_ns",
    "timely_ratio",
    "outage_share",
    "excluded_share",
    "steal_share",
    "send_lag_p99_ns",
    "pick_up_p99_ns",
    "stops_allowance",
)


def load(folder: Path, outcome: Outcome, asked: Iterable[float]) -> Measured | None:
    """The run as it was summarised; None if it was not, or anything has changed since.

    Args:
        folder: of the point.
        outcome: of it.
        asked: quantiles that the summary has to speak of.
    """
    try:
        table = read_json(folder / NAME)
        if table.get("schema") != FORM or table.get("of") != _of(folder):
            return None
        measured = _measured(table, outcome, folder)
    except (StoreFault, KeyError, TypeError, ValueError):  # it is made again
        return None
    return measured if measured.alone and set(asked) <= set(measured.alone.ratios) else None


def keep(folder: Path, measured: Measured, asked: Iterable[float], result: LoadResult) -> Measured:
    """Find what the run says by itself and keep it; where it cannot be written, only find it.

    Args:
        folder: of the point.
        measured: all that was read of it.
        asked: quantiles to speak of.
        result: of the generator, which has the histograms of `measured`.

    Returns:
        The run without its slices and raw times.
    """
    outcome, used = run_stats.find(measured, asked), measured.resources
    hdr, apart = result.sojourn_ns.hdr, result.undisturbed_ns
    table = {
        "schema": FORM,
        "of": _of(folder),
        "hdr": hdr,
        "lost": measured.sojourn.lost,
        "undisturbed": [apart.hdr, apart.lost] if apart else None,
        **{name: getattr(measured, name) for name in _PLAIN},
        "lateness_ns": list(measured.lateness_ns.items()),
        "errors": dict(measured.errors),
        "worker_cpu_s": measured.worker_cpu_s,
        "ratios": [[q, own.ratio, own.freedom] for q, own in outcome.ratios.items()],
        "is_steady": outcome.is_steady,
        "unsteady": outcome.unsteady,
        "grows": outcome.grows,
        "cold": outcome.cold,
        "series": outcome.series,
        "resources": None if used is None else resources.packed(used),
    }
    if disk.is_own(folder):  # to look at a record of somebody else changes nothing in it
        with contextlib.suppress(StoreFault):
            files.write_text(folder / NAME, json.dumps(table))
    return Measured(
        outcome=measured.outcome,
        sojourn=times.Packed(hdr, lost=measured.sojourn.lost, at=str(folder / NAME)),
        undisturbed=_packed(table["undisturbed"], folder),
        **{name: getattr(measured, name) for name in _PLAIN},
        lateness_ns=measured.lateness_ns,
        errors=measured.errors,
        worker_cpu_s=measured.worker_cpu_s,
        resources=used,
        alone=outcome,
    )


def _measured(table: Mapping[str, Any], outcome: Outcome, folder: Path) -> Measured:
    decode(table["hdr"], at=str(folder / NAME))  # or it is made again
    return Measured(
        outcome=outcome,
        sojourn=times.Packed(table["hdr"], lost=int(table["lost"]), at=str(folder / NAME)),
        undisturbed=_packed(table["undisturbed"], folder),
        **{name: table[name] for name in _PLAIN},
        lateness_ns=dict(table["lateness_ns"]),
        errors=table["errors"],
        worker_cpu_s=tuple(table["worker_cpu_s"]),
        resources=resources.unpacked(table["resources"]) if table["resources"] else None,
        alone=Alone(
            ratios={
                q: Batched(ratio=ratio, freedom=freedom) for q, ratio, freedom in table["ratios"]
            },
            is_steady=table["is_steady"],
            unsteady=tuple(table["unsteady"]),
            grows=table["grows"],
            cold=table["cold"],
            series=tuple((at, rps, p50, p99) for at, rps, p50, p99 in table["series"]),
        ),
    )


def _packed(retained: Any, folder: Path) -> times.Times | None:
    """A histogram and how many requests were lost beside it; None where there is none."""
    if not retained:
        return None
    return times.Packed(retained[0], lost=int(retained[1]), at=str(folder / NAME))


def _of(folder: Path) -> list[Any]:
    """What a summary rests on: the run's files as they are now, and the methods."""
    return [_methods(), *(_stamp(folder / name) for name in (LOAD, HLOG, RAW, resource.NAME))]


def _stamp(path: Path) -> list[int]:
    """Size and time of change; empty if there is no such file."""
    try:
        result = path.stat()
    except FileNotFoundError:
        return []
    return [result.st_size, result.st_mtime_ns]


@functools.cache
def _methods() -> str:
    """A name that changes with the source of the methods."""
    digest = blake2b(digest_size=8)
    for name in _METHODS:
        digest.update((Path(__file__).parents[1] / name).read_bytes())
    return digest.hexdigest()
