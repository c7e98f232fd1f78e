"""Clocks and ways of the clients of many hosts, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sojourn import units
from sojourn.samples import HOSTS, read_json

ROW, WAY = "client clocks", "way to the server"


def rows(folders: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    """What `hosts.json` of these points says of clocks and ways; () where there is none."""
    tables = [read_json(at / HOSTS) for at in folders if (at / HOSTS).exists()]
    return (*_clocks(tables), *_ways(tables))


def _ways(tables: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """Round trips of all clients, and their largest share of a client's p50."""
    clients = [one for table in tables for one in table.get("clients", ()) if one.get("network")]
    if not clients:
        return ()
    times = [float(one["network"]["p50_ns"]) for one in clients]
    parts = [t / one["p50_ns"] for t, one in zip(times, clients, strict=True) if one.get("p50_ns")]
    share = f", up to {max(parts):.0%} of a client's p50" if parts else ""
    text = f"round trip {units.show_ns(min(times))} to {units.show_ns(max(times))}{share}"
    return ((WAY, text),)


def _clocks(tables: Sequence[Mapping[str, Any]]) -> tuple[tuple[str, str], ...]:
    """The worst of all points. A clock that is the lab's own says nothing of others."""
    clocks = [clock for table in tables for clock in _apart(table)]
    spread = [float(table["starts"]["within_ns"]) for table in tables if "starts" in table]
    if not spread:
        return ()
    began = f"clients began within {units.show_ns(max(spread), 1)}"
    if not clocks:
        return ((ROW, f"all clients read the lab's clock; {began}"),)
    away = max(abs(float(clock["offset_ns"])) for clock in clocks)
    error = max(float(clock["error_ns"]) for clock in clocks)
    drifts = [float(c["drift_ppm"]) for c in clocks if c.get("drift_ppm") is not None]
    drift = f"drift {min(drifts):+.3g} to {max(drifts):+.3g} ppm" if drifts else "drift not known"
    known = f"known to {units.show_ns(error, 1)}"
    text = f"up to {units.show_ns(away, 1)} off the lab's, {known}, {drift}"
    return ((ROW, f"{text}; {began}"),)


def _apart(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    clocks = [client["clock"] for client in table.get("clients", ())]
    return [clock for clock in clocks if not clock.get("is_the_labs")]
