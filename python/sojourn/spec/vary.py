"""`[factors]` and `--vary` → the table of factors that the model checks.

`load` is a factor in all but form: every sweep varies it within each combination of the others. So
its levels go to `run.fractions`, and those of `rate` to `run.rates`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from sojourn.errors import SpecFault
from sojourn.spec.faults import Key
from sojourn.spec.keys import EACH
from sojourn.spec.levels import levels_of

LOADS = {"load": "fractions", "rate": "rates"}
_SAY_LOADS = (*LOADS, *(f"run.{key}" for key in LOADS.values()))


def apply(
    table: dict[str, Any],
    varied: Sequence[str],
    overrides: Sequence[str],
    origin: MutableMapping[Key, str],
    where: Callable[[Key], str],
) -> list[SpecFault]:
    """Put the factors of the command line into the table; the file's are overridden.

    Args:
        table: of the study, changed in place.
        varied: `key=level,level` texts.
        overrides: `key=value` texts of `--set`, which may not set what is varied.
        origin: gets the text that put a value where it is, by key.
        where: says where in the file a key stands.

    Returns:
        What is wrong with them.
    """
    spec_faults: list[SpecFault] = []
    try:
        inputs = flat(table.get("factors", {}))
    except ValueError as error:
        what, _, fix = str(error).partition("; ")
        spec_faults.append(SpecFault(what, at=where(("factors",)), fix=fix))
        inputs = {}
    if not isinstance(inputs, Mapping):
        return []  # the model refuses it
    known = dict(inputs)
    seen: set[str] = set()
    by_set = [_key_of(text).removeprefix("factors.") for text in overrides]
    taken = {place for key in by_set for place in _places(table, key)}
    for text in varied:
        at = f"--vary {text}"
        try:
            key, levels = _split(text)
            places = _untaken(table, key, taken)
            _refuse_other_loads(key, (*by_set, *seen))
        except ValueError as error:
            what, _, fix = str(error).partition("; ")
            spec_faults.append(SpecFault(what, at=at, fix=fix))
            continue
        seen.add(key)
        taken |= places
        known[key] = levels
        origin["factors", key] = at
    spec_faults += _in_vain(table, overrides, {*inputs} - seen)
    table["factors"] = known
    if ("design", "skip") not in origin:
        _skip_no_more(table, {key: known[key] for key in seen})
    return [*spec_faults, *_loads(table, origin, where)]


def _skip_no_more(table: dict[str, Any], varied: Mapping[str, Any]) -> None:
    """Leave out what the file skips of levels that the command line has not chosen."""
    design = table.get("design")
    if not isinstance(design, dict) or not isinstance(skips := design.get("skip"), list):
        return  # the model refuses what is no list

    def is_left(skip: object) -> bool:
        levels = skip.get("levels") if isinstance(skip, Mapping) else None
        if not isinstance(levels, Mapping):
            return True
        return all(levels[key] in varied[key] for key in varied if key in levels)

    design["skip"] = [skip for skip in skips if is_left(skip)]


def _in_vain(
    table: Mapping[str, Any], overrides: Sequence[str], by_file: Collection[str]
) -> Iterator[SpecFault]:
    """`--set` of a key that the file varies: each level would take its place."""
    for text in overrides:
        places = _places(table, _key_of(text))
        if key := next((k for k in by_file if places & _places(table, k)), ""):
            yield SpecFault(
                f"the study varies {key}, so setting it changes nothing",
                at=f"--set {text}",
                fix=f"choose its levels, two at least: --vary {key}=LEVEL,LEVEL",
            )


def _untaken(
    table: Mapping[str, Any], key: str, taken: set[tuple[str, ...]]
) -> set[tuple[str, ...]]:
    """The places of a key; ValueError if one of them is given otherwise."""
    places = _places(table, key)
    if places & taken:
        raise ValueError(f"{key} is given twice; give it once, with all its levels")
    return places


def _refuse_other_loads(key: str, others: Collection[str]) -> None:
    """ValueError where the loads come from a second option, of which one would have no effect."""
    other = next((one for one in others if key in LOADS and one in _SAY_LOADS), "")
    if other:
        raise ValueError(f"{key} and {other} both say the loads; leave one of them out")


def _key_of(text: str) -> str:
    return text.partition("=")[0].strip()


def _places(table: Mapping[str, Any], key: str) -> set[tuple[str, ...]]:
    """Where a key is in the table, services by number: one key may be written in several ways."""
    parts = tuple(key.split("."))
    services = table.get("services")
    if len(parts) < 3 or parts[0] != "services" or not isinstance(services, list):
        return {parts}
    called = [
        {EACH, str(number), str(one.get("label") or one.get("kind"))}
        for number, one in enumerate(services)
        if isinstance(one, Mapping)
    ]
    own = [number for number, names in enumerate(called) if parts[1] in names]
    return {("services", str(number), *parts[2:]) for number in own} or {parts}


def _split(text: str) -> tuple[str, list[Any]]:
    """Key and levels; ValueError if it is no factor."""
    key, equals, levels = text.partition("=")
    key = key.strip()
    if not equals or not key:
        raise ValueError(
            f"'{text}' is not KEY=LEVEL,LEVEL; write --vary services.memcached.params.threads=1,2"
        )
    try:
        return key, list(levels_of(levels))
    except ValueError as error:
        raise ValueError(f"{error}; write levels with commas between them: 1,2") from None


def _loads(
    table: dict[str, Any], origin: MutableMapping[Key, str], where: Callable[[Key], str]
) -> list[SpecFault]:
    """Levels of `load` and `rate` become the sweep's."""
    factors = table.get("factors")
    run = table.setdefault("run", {})
    if not isinstance(factors, Mapping) or not isinstance(run, dict):
        return []
    _replace_other_loads(run, origin)
    table["factors"] = {key: levels for key, levels in factors.items() if key not in LOADS}
    faults: list[SpecFault] = []
    for word, key in LOADS.items():
        if word not in factors:
            continue
        at = origin.pop(("factors", word), "")
        if not at and key in run:
            what, fix = f"loads stand in factors.{word} and in run.{key}", "leave one of them out"
            faults.append(SpecFault(what, at=where(("factors", word)), fix=fix))
            continue
        run[key] = factors[word]
        if at:
            origin["run", key] = at
            _replace_other_loads(run, origin)
    return faults


def _replace_other_loads(run: dict[str, Any], origin: Mapping[Key, str]) -> None:
    """The command line's loads are those of the study, however the file gives them."""
    typed = [key for key in LOADS.values() if ("run", key) in origin]
    if len(typed) == 1:  # of both the form says that they cannot be
        run.pop(next(key for key in LOADS.values() if key not in typed), None)


def flat(table: object) -> object:
    """`[factors]` with keys as texts, also where somebody wrote them without quotes.

    Raises:
        ValueError: a factor comes twice, with quotes and without.

    >>> flat({"run": {"measure_s": [1, 2]}, "run.warmup_s": [0, 1]})
    {'run.measure_s': [1, 2], 'run.warmup_s': [0, 1]}
    """
    if not isinstance(table, Mapping):
        return table
    results: dict[str, object] = {}
    for key, value in _leaves(table, ""):
        if key in results:
            raise ValueError(f"the factor {key} comes twice; leave one out")
        results[key] = value
    return results


def _leaves(table: Mapping[str, Any], head: str) -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        key = f"{head}.{name}" if head else str(name)
        if isinstance(value, Mapping):
            yield from _leaves(value, key)
        else:
            yield key, value
