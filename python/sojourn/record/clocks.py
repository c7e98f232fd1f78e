"""Clocks of the clients of many hosts, over all points of a service, in one line for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sojourn import units
from sojourn.samples import HOSTS, read_json

ROW = "client clocks"


def row(folders: Iterable[Path]) -> tuple[tuple[str, str], ...]:
    """What `hosts.json` of these points says of clocks; () where there is none.

    The worst of all points counts. A clock that is the lab's own says nothing of others.
    """
    tables = [read_json(at / HOSTS) for at in folders if (at / HOSTS).exists()]
    clocks = [clock for table in tables for clock in _apart(table)]
    spread = [float(table["starts"]["within_ns"]) for table in tables if "starts" in table]
    if not spread:
        return ()
    began = f"clients began within {units.show_ns(max(spread))}"
    if not clocks:
        return ((ROW, f"all clients read the lab's clock; {began}"),)
    away = max(abs(float(clock["offset_ns"])) for clock in clocks)
    error = max(float(clock["error_ns"]) for clock in clocks)
    drifts = [float(c["drift_ppm"]) for c in clocks if c.get("drift_ppm") is not None]
    drift = f"drift {min(drifts):+.3g} to {max(drifts):+.3g} ppm" if drifts else "drift not known"
    text = f"up to {units.show_ns(away)} off the lab's, known to {units.show_ns(error)}, {drift}"
    return ((ROW, f"{text}; {began}"),)


def _apart(table: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    clocks = [client["clock"] for client in table.get("clients", ())]
    return [clock for clock in clocks if not clock.get("is_the_labs")]
