"""TOML → `Study`: file, overrides and profile come together, and every mistake is named.

A study is given by path or, for those that come with the lab, by bare name. What the file and the
command line leave open, the profile fills in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from sojourn import disk
from sojourn.errors import SpecFault
from sojourn.spec import factors, files, form, kinds, vary
from sojourn.spec.faults import Key, Mistake, mistakes, place, together
from sojourn.spec.models import Study
from sojourn.spec.profiles import PROFILES
from sojourn.spec.where import line_by_label, line_of
from sojourn.text.near import near

STUDIES = Path(__file__).parents[1] / "studies"
DEFAULT_PROFILE = "standard"
STUDY_BYTES = 1024**2  # of a record's study, which may have come by mail
DEPTH, TOO_DEEP = 32, "tables and lists lie within each other too deep"
DOTS = 20_000_000  # of all lines, times those of the line with most; 8 bytes of memory for each
BY_PROFILE = "profiles"  # a table of what a study sets otherwise in one of them
OF_PROFILE = ("run", "aa")  # that may differ
RETIRED_SEARCH = ("probe_max_s", "rounds", "confidence", "climb")  # until one model took all runs


def load(
    study: str | Path,
    *,
    profile: str | None = None,
    overrides: Sequence[str] = (),
    varied: Sequence[str] = (),
    is_own: bool = False,
    asks: Callable[[object], Iterable[Mistake]] | None = None,
) -> Study:
    """Read, resolve and check a study.

    Args:
        study: path of a TOML file, or the bare name of one that comes with the lab.
        profile: "quick", "standard" or "full"; overrides the file's.
        overrides: `key=value` texts, such as "run.repeats=2" or "services.nginx.qos.bound=5ms".
        varied: `key=level,level` texts: factors, such as "services.memcached.params.threads=1,2".
        is_own: the lab wrote the file itself, perhaps long ago: kinds and their parameters are
            not held against today's.
        asks: gives the mistakes of the services as the file has them that only the stages know
            which it is for: `Questions.mistakes`.

    Raises:
        SpecFault: with file and line, key path, near names, and how to fix it; its `each` has all
            mistakes, those of the command line first, then in file order.
    """
    path = find(study)
    text = _read_stored(path) if is_own and path.parent != STUDIES else _read(path)
    table = _parse(text, path)
    if is_own:
        _leave_out_retired(table)
        table.setdefault("probe", "0")
        table.setdefault("aa", False)  # what was not written was not there when it was measured
    faults: list[SpecFault] = []
    origin: dict[Key, str] = {}
    for override in overrides:
        try:
            origin[_apply(table, override)] = f"--set {override}"
        except SpecFault as fault:
            faults.append(fault)
    in_file = partial(place, text=text, path=path)
    faults.extend(vary.apply(table, varied, overrides, origin, in_file))
    _of_profile(table, profile, in_file, origin, faults)
    files.resolve({} if is_own else table, path.parent, origin)  # a record's names hold anywhere
    resolved = _with_profile(table, profile, text, path, faults)
    parsed: Study | None = None
    results: list[Mistake] = []
    try:
        parsed = form.current().study.model_validate(resolved)
    except ValidationError as error:
        results.extend(mistakes(error, resolved))
    if not is_own:
        for known_to in _known_to(asks):
            results.extend(known_to(resolved))
    if not (is_own or results or parsed is None):
        results.extend(factors.mistakes(parsed, _known_to(asks)))
    for key, what, fix in sorted(results, key=lambda mistake: line_of(text, mistake[0])):
        faults.append(SpecFault(what, at=place(key, text, path, origin), fix=fix))
    if parsed is None or faults:
        raise together(faults)
    return parsed


def _known_to(asks: Callable[[object], Iterable[Mistake]] | None) -> tuple[factors.Judge, ...]:
    """Whoever knows mistakes of a study's table that its form does not show."""
    of_services = (kinds.mistakes, *([asks] if asks else []))
    judges = (lambda table, of=of: of(table.get("services")) for of in of_services)
    return *judges, kinds.actor_mistakes


def of_papers() -> dict[str, tuple[str, ...]]:
    """Item of the papers → the built-in studies that measure it, by name (`Study.papers`)."""
    results: dict[str, tuple[str, ...]] = {}
    for name in names():
        path = STUDIES / f"{name}.toml"
        for item in _parse(_read(path), path).get("papers", ()):
            results[item] = (*results.get(item, ()), name)
    return results


def find(study: str | Path) -> Path:
    """The file that `study` means; SpecFault with near names if there is none."""
    path = Path(study)
    if path.suffix == ".toml" or "/" in str(study):
        if path.is_file():
            return path
        what = f"there is no study file '{path}'" + (": it is a folder" if path.is_dir() else "")
        raise SpecFault(what, at=str(path.absolute()), fix="check the path, or see `sojourn ls`")
    named = STUDIES / f"{study}.toml"
    if named.is_file():
        return named
    known = names()
    meant = near(str(study), known) or known
    raise SpecFault(
        f"there is no study called '{study}'",
        at=str(STUDIES),
        fix=f"did you mean {' or '.join(meant)}? A file of your own is given by path: my.toml",
    )


def located(
    asked: Study, study: str | Path, at: str, *, overrides: Sequence[str], varied: Sequence[str]
) -> str:
    """`mine.toml:7  services.memcached.knobs.cpuset`, or the option that put the value there.

    Args:
        asked: what `load` made of the rest.
        study: path or bare name.
        at: a key by its service's label; it comes back as it is where the file has nothing of it.
        overrides: as for `load`.
        varied: as for `load`.
    """
    for option, texts in (("--set", overrides), ("--vary", varied)):
        for text in texts:
            if text.partition("=")[0].strip() == at:
                return f"{option} {text}"
    path = find(study)
    line = line_by_label(_read(path), at, [service.label for service in asked.services])
    return at if line is None else f"{path}:{line}  {at}"


def names() -> list[str]:
    """Names of the studies that come with the lab."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError):
            disk.check_spent(error, path)
        raise SpecFault(
            f"the study cannot be read: {error}", at=str(path), fix="give a readable UTF-8 file"
        ) from None


def _read_stored(path: Path) -> str:
    """The study of a record, which somebody else may have sent."""
    try:
        return disk.read_text(path, most=STUDY_BYTES)
    except (OSError, ValueError) as error:
        raise SpecFault(
            f"the study of the record cannot be read: {error}",
            at=str(path),
            fix="ask for the record again where it was measured",
        ) from None


def _parse(text: str, path: Path) -> dict[str, Any]:
    try:
        table = {} if _is_dotted(text) else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else TOO_DEEP
        raise SpecFault(
            f"this is not TOML: {why}", at=str(path), fix="fix the line; see https://toml.io"
        ) from None
    if _is_deep(table) or _is_dotted(text):
        raise SpecFault(
            f"this is not a study: {TOO_DEEP}", at=str(path), fix="see `sojourn init` for a study"
        )
    return table


def _is_dotted(text: str) -> bool:
    """Whether keys could have so many parts that to read them takes all memory.

    `tomllib` keeps each beginning of a dotted key: of 100,000 parts (200 kB) that takes 40 GB.
    A key does not go beyond its line, and begins with the parts of its table's.
    """
    dots = [line.count(".") for line in text.split("\n")]
    return sum(dots) * max(dots) > DOTS


def _is_deep(table: object) -> bool:
    """Whether tables and lists lie within each other deeper than any study has them."""
    level: list[Any] = [table]
    for _ in range(DEPTH):
        parts = (one.values() if isinstance(one, dict) else one for one in level)
        level = [inner for part in parts for inner in part if isinstance(inner, dict | list)]
        if not level:
            return False
    return True


def _leave_out_retired(table: dict[str, Any]) -> None:
    """Keys of records of before that no longer mean anything; what was measured is without."""
    search = table.get("run", {}).get("search", {})
    for key in RETIRED_SEARCH:
        search.pop(key, None)


def _apply(table: dict[str, Any], override: str) -> tuple[str | int, ...]:
    """Put one `key=value` into the table; the value is TOML, or plain text if it is not."""
    dotted, equals, value = override.partition("=")
    at = f"--set {override}"
    if not equals or not dotted.strip():
        raise SpecFault(f"'{override}' is not key=value", at=at, fix="write --set run.repeats=2")
    *parents, last = dotted.strip().split(".")
    node: Any = table
    path: list[str | int] = []
    for name in parents:
        if isinstance(node, list):
            path.append(index := _index(node, name, at))
            node = node[index]
        else:
            path.append(name)
            node = node.setdefault(name, {})
        if not isinstance(node, dict | list):
            raise SpecFault(
                f"'{name}' is a value, not a table", at=at, fix=f"set {name} itself, or fix the key"
            )
    if isinstance(node, list):
        raise SpecFault(
            f"'{dotted}' names a whole entry", at=at, fix=f"name a key in it: {dotted}.KEY=VALUE"
        )
    node[last] = _value(value)
    return (*path, last)


def _index(entries: list[Any], name: str, at: str) -> int:
    """Position of the service called `name`, by label, kind or number."""
    called = [str(entry.get("label") or entry.get("kind")) for entry in entries]
    if name in called:
        return called.index(name)
    if name.isdecimal() and int(name) < len(entries):
        return int(name)
    meant = near(name, called) or called
    raise SpecFault(
        f"the study has no service '{name}'", at=at, fix=f"use one of: {', '.join(meant)}"
    )


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text.strip()


def _of_profile(
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
    name = asked or (run.get("profile") if isinstance(run, dict) else None) or DEFAULT_PROFILE
    for key, value in _leaves(inputs.get(name, {})):
        at = in_file((BY_PROFILE, name, *key))
        if key[0] not in OF_PROFILE:
            what = f"'{'.'.join(key)}' is the same in every profile"
            faults.append(SpecFault(what, at=at, fix=f"only {', '.join(OF_PROFILE)} may differ"))
        elif key not in origin:
            origin[key] = at
            node = table
            for part in key[:-1]:
                node = node.setdefault(part, {})
            node[key[-1]] = value


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


def _with_profile(
    table: Mapping[str, Any], asked: str | None, text: str, path: Path, faults: list[SpecFault]
) -> dict[str, Any]:
    """The table with `run` filled up from the profile; what is given wins.

    What is wrong with either goes to `faults`, and the default is in, so that the rest can be
    looked at too.
    """
    run = table.get("run", {})
    if not isinstance(run, dict):
        at = f"{path}:{line_of(text, ('run',))}  run"
        faults.append(SpecFault("run is a table", at=at, fix="write [run] and its keys below"))
        run = {}
    name = asked or run.get("profile", DEFAULT_PROFILE)
    if not isinstance(name, str) or name not in PROFILES:
        at = "--profile" if asked else f"{path}:{line_of(text, ('run', 'profile'))}  run.profile"
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
