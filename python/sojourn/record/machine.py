"""The machine and the circumstances of a record, as texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.store.record import Record
from sojourn.units import show_bytes

MACHINE = ("machine", "CPU", "CPUs", "memory")  # whose difference makes another machine


def facts(record: Record) -> dict[str, str]:
    """Name → text, in the order of showing; what the record does not know is missing.

    A manifest is a foreign file: any part of it may be missing or of another form.
    """
    manifest = record.manifest
    known = _table(manifest.get("environment"))
    cpus = _table(known.get("topology"))
    kernel, group = _table(known.get("kernel")), _table(known.get("cgroup"))
    power, activity = _table(known.get("power")), _table(known.get("activity"))
    allowed = cpus.get("allowed")
    memory = _table(known.get("memory")).get("total_bytes")
    rows = {
        "machine": known.get("name"),
        "CPU": cpus.get("model"),
        "CPUs": len(allowed) if isinstance(allowed, list) else None,
        "memory": show_bytes(memory) if isinstance(memory, int) else None,
        "kernel": kernel.get("release"),
        "system": kernel.get("system"),
        "CPU quota": group.get("cpu_quota"),
        "governors": _list(power.get("governors")),
        "turbo": power.get("turbo"),
        "stolen time since boot": _share(activity.get("steal_share_boot")),
        "sojourn": manifest.get("sojourn"),
        "study": record.study.name,
        "profile": record.study.run.profile,
        "shield": record.study.run.shield,
        "neighbour": record.study.neighbour,
        "finished": "yes" if record.is_complete else "no",
    }
    return {what: str(how) for what, how in rows.items() if how is not None and how != ""}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else ""


def _share(value: Any) -> str | None:
    return f"{value:.2%}" if isinstance(value, int | float) else None
