"""How a record is resumed: what must be as it was, and which versions measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sojourn import __version__, disk
from sojourn.errors import Fault
from sojourn.host.tree import cpu_text
from sojourn.plan.points import Outcome
from sojourn.spec.text import parse
from sojourn.store import files
from sojourn.store.named import FAILED, OUTCOME
from sojourn.visible import in_line

# What must not change between the parts of one record, as it is written in `environment`.
IDENTITY = (
    ("topology", "model", "processor"),
    ("topology", "allowed", "CPUs"),  # services are placed on these
    ("cgroup", "cpu_quota", "CPU quota"),
    ("kernel", "release", "kernel"),
)
RESUMED = "resumed-*.json"
WORD_MOST, CPU_MOST = 60, 1 << 16
RESUMED_BYTES = 4 * 1024**2
KEYS_SHOWN, PROFILE = 3, "run.profile"
_UNSAID = object()


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """What is otherwise on two machines by their manifests, in words; () where points compare.

    Args:
        one: of a record.
        other: of this machine.
    """
    results = []
    for part, key, name in IDENTITY:
        first, second = (_fact(manifest, part, key) for manifest in (one, other))
        if _UNSAID not in (first, second) and first != second:
            results.append(f"{name} {_word(first)} (here {_word(second)})")
    return tuple(results)


def begun_anew(path: Path, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Why an unfinished record is not gone on with, and what would be: a line.

    Args:
        path: of the record.
        one: its manifest.
        other: of this machine.
    """
    first, second = (_fact(manifest, "topology", "allowed") for manifest in (one, other))
    what = differences(one, other)
    is_part = len(what) == 1 and _are_cpus(first) and _are_cpus(second) and set(first) < set(second)
    way = f"with `taskset -c {_word(first)}` before it" if is_part else "where all is as it was"
    return (
        f"a new record begins: the unfinished {in_line(path.name)} has {', '.join(what)}; "
        f"the same command {way} resumes that one"
    )


def asks_otherwise(path: Path, stored: str, text: str) -> str:
    """Why an unfinished record of another study is not gone on with: a line; "" of another profile.

    Args:
        path: of the record.
        stored: its study.
        text: the study that is asked for.
    """
    try:
        one, other = (dict(_leaves(parse(each, path / "study.toml"))) for each in (stored, text))
    except Fault:
        return ""
    keys = [key for key in {**one, **other} if one.get(key, _UNSAID) != other.get(key, _UNSAID)]
    if not keys or PROFILE in keys:
        return ""
    more = f" and {len(keys) - KEYS_SHOWN} more" if len(keys) > KEYS_SHOWN else ""
    what = ", ".join(in_line(key) for key in keys[:KEYS_SHOWN])
    return (
        f"a new record begins: the unfinished {in_line(path.name)} has another {what}{more}; "
        "with the study as it was, the same command resumes that one"
    )


def _leaves(node: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Each value of a study's table with its key."""
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(node, list) and any(isinstance(one, Mapping) for one in node):
        for number, value in enumerate(node):
            yield from _leaves(value, f"{name}[{number}]")
    else:
        yield name, node


def _fact(manifest: Mapping[str, Any], part: str, key: str) -> Any:
    """One fact of an environment; `_UNSAID` if it is not there, or in no form of the lab's."""
    result = (manifest.get("environment") or {}).get(part)
    return result.get(key, _UNSAID) if isinstance(result, Mapping) else _UNSAID


def _are_cpus(value: Any) -> bool:
    numbers = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
    return bool(numbers) and all(type(one) is int and 0 <= one < CPU_MOST for one in numbers)


def _word(value: Any) -> str:
    """A fact for people; it may have come from anywhere.

    >>> _word([0, 1, 2]), _word(None), _word(1.5)
    ('0-2', 'none', '1.5')
    """
    if _are_cpus(value):
        value = cpu_text(tuple(value))
    text = "none" if value is None else in_line(str(value))
    return text if len(text) <= WORD_MOST else f"{text[: WORD_MOST - 1]}…"


def put_aside(folder: Path) -> None:
    """Let a point of a record no longer count; its files remain.

    Raises:
        StoreFault: it cannot be written.
    """
    with files.disk_faults(folder), disk.folder(folder) as place:
        os.rename(OUTCOME, FAILED, src_dir_fd=place, dst_dir_fd=place)


def again_in_words(failed: Sequence[Outcome]) -> str:
    """Which points are measured again because they failed, and why the first one did: a line."""
    first, more = failed[0], len(failed) - 1
    why = in_line(next(iter(first.reasons), "nothing was measured"))
    others = f", and {more} more" if more else ""
    return f"measured again, because it failed: {in_line(first.point.key)} ({why}){others}"


def note(path: Path, about: Mapping[str, Any], points: int) -> None:
    """Note that a record is gone on with, by which version, and after how many points."""
    now = datetime.now(UTC)
    table = {
        **about,
        "schema": "sojourn.resumed/1",
        "resumed": now.isoformat(),
        "sojourn": __version__,
        "points": points,
    }
    files.write_text(
        path / f"resumed-{now:%Y%m%dT%H%M%S%f}.json", json.dumps(table, indent=2) + "\n"
    )


def versions(path: Path, manifest: Mapping[str, Any], points: int) -> dict[str, int]:
    """Which versions of Sojourn measured a record, and how many of its points each.

    A version that measured none is left out. Of a record that was gone on with before this was
    noted, the points count for the version before.

    Args:
        path: of the record.
        manifest: of the record.
        points: that it has now.
    """
    parts = [(_version(manifest), 0), *_noted(path)]
    ends = [*(first for _, first in parts[1:]), points]
    results: dict[str, int] = {}
    for (version, first), end in zip(parts, ends, strict=True):
        if version and min(end, points) > first:
            results[version] = results.get(version, 0) + min(end, points) - first
    return results


def _noted(path: Path) -> list[tuple[str, int]]:
    """(version, points before it) of each time that says so; a damaged file says nothing."""
    results = []
    for file in sorted(path.glob(RESUMED)):
        try:
            table = disk.read_json(file, most=RESUMED_BYTES)
            version, points = _version(table), table["points"]
        except (OSError, Fault, ValueError, LookupError, TypeError, AttributeError):
            continue
        if version and type(points) is int and points >= 0:
            results.append((version, points))
    return results


def _version(table: Mapping[str, Any]) -> str:
    version = table.get("sojourn")
    return _word(version) if isinstance(version, str) else ""


def in_words(measured: Mapping[str, int]) -> str:
    """Versions with their points.

    >>> in_words({"0.2.0": 3, "0.3.0": 1})
    '3 by 0.2.0, 1 by 0.3.0'
    """
    return ", ".join(f"{count} by {version}" for version, count in measured.items())
