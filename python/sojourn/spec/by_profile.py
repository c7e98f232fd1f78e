"""What a profile fills in, and what a study sets otherwise in one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sojourn.errors import SpecFault
from sojourn.spec import form
from sojourn.spec.faults import Key
from sojourn.spec.profiles import PROFILES
from sojourn.spec.vary import LOADS

DEFAULT_PROFILE = "standard"
BY_PROFILE = "profiles"  # a table of what a study sets otherwise in one of them
OF_PROFILE = ("run", "aa")  # that may differ


def set_by_profile(
    table: dict[str, Any],
    asked: str | None,
    in_file: Callable[[Key], str],
    origin: dict[Key, str],
    faults: list[SpecFault],
) -> None:
    """What the study sets otherwise in the profile that is asked for goes where it belongs.

    What the command line sets stays. A record has the result, and no word of profiles.
    """
    inputs = table.pop(BY_PROFILE, {})
    fix = f"write [{BY_PROFILE}.quick] and below it keys such as run.repeats, or aa"
    if wrong := _wrong_tables(inputs):
        faults += [SpecFault(what, at=in_file((BY_PROFILE, *key)), fix=fix) for key, what in wrong]
        return
    run = table.get("run", {})
    own = (run.get("profile") if isinstance(run, dict) else None) or DEFAULT_PROFILE
    name = own if asked is None else asked
    for key, value in _leaves(inputs.get(name, {}) if isinstance(name, str) else {}):
        at = in_file((BY_PROFILE, name, *key))
        if key[0] not in OF_PROFILE:
            what = f"'{'.'.join(key)}' is the same in every profile"
            faults.append(SpecFault(what, at=at, fix=f"only {', '.join(OF_PROFILE)} may differ"))
        elif not _is_set(key, origin):
            origin[key] = at
            node = table
            for part in key[:-1]:
                node = node.setdefault(part, {})
            node[key[-1]] = value


def _is_set(key: tuple[str, ...], origin: Mapping[Key, str]) -> bool:
    """Whether the command line sets it, a table that it is in, or loads of the other kind."""
    loads = {("run", load) for load in LOADS.values()}
    above = {key[:n] for n in range(1, len(key) + 1)}
    return not origin.keys().isdisjoint(above | (loads if key in loads else set()))


def _wrong_tables(inputs: object) -> Sequence[tuple[tuple[str, ...], str]]:
    """What is no table of a profile, with its key below `profiles`."""
    if not isinstance(inputs, dict):
        return [((), f"{BY_PROFILE} is a table")]
    known = ", ".join(PROFILES)
    unlike = [((n,), f"there is no profile '{n}': {known}") for n in inputs if n not in PROFILES]
    flat = [
        ((n,), f"{BY_PROFILE}.{n} is a table")
        for n, of in inputs.items()
        if n in PROFILES and not isinstance(of, dict)
    ]
    return unlike + flat


def _leaves(
    table: Mapping[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value of a table of tables with its path.

    >>> list(_leaves({"aa": False, "run": {"search": {"probe_s": 1}}}))
    [(('aa',), False), (('run', 'search', 'probe_s'), 1)]
    """
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, name))
        else:
            yield (*above, name), value


def with_profile(
    table: Mapping[str, Any],
    asked: str | None,
    where: Callable[[Key], str],
    faults: list[SpecFault],
) -> dict[str, Any]:
    """The table with `run` filled up from the profile; what is given wins.

    What is wrong with either goes to `faults`, and the default is in, so that the rest can be
    looked at too.
    """
    run = table.get("run", {})
    if not isinstance(run, dict):
        fix = "write [run] and its keys below"
        faults.append(SpecFault("run is a table", at=where(("run",)), fix=fix))
        run = {}
    name = run.get("profile", DEFAULT_PROFILE) if asked is None else asked
    if not isinstance(name, str) or name not in PROFILES:
        at = "--profile" if asked is not None else where(("run", "profile"))
        fix = f"use one of: {', '.join(PROFILES)}"
        faults.append(SpecFault(f"there is no profile '{name}'", at=at, fix=fix))
        name = DEFAULT_PROFILE
    base = form.current().profiles[name].model_dump(mode="python")
    search = run.get("search", {})
    if run.get("rates"):  # in place of the profile's loads; both in the file are refused
        base["fractions"] = ()
    merged = {**base, **run, "profile": name}
    if isinstance(search, dict):
        merged["search"] = {**base["search"], **search}
    return {**table, "run": merged}
