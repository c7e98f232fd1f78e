"""Files that a study names: a relative name is one in the folder of the study's file.

The generator runs in a folder of the record, and the lab wherever it was started. So names are made
absolute as the study is read. A name that comes by `--set` or `--vary` was typed in a shell: it is
one in the folder in which sojourn was started.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any, TypeVar, cast

from sojourn import disk
from sojourn.spec import form
from sojourn.spec.faults import Key

V = TypeVar("V")
#: Keys of the generator's job that name a file to be read; so do all that end in `_file`.
READ = ("cert", "key")
#: Keys of the job that name a file to be written: each point has its own, in its folder.
WRITTEN = ("hlog", "raw", "seconds", "turns")
#: Options of a protocol that name a file.
OPTIONS = ("descriptor",)
#: Parameters of services that name a file or folder.
PARAMS = ("folder", "bundle", "environment_file")
_SECRET = re.compile(r"^([^:]*:file:)(.+)$", re.DOTALL)
_HEADER = re.compile(r"^([^:]+:\s*file:)(.+)$", re.DOTALL)  # as `_SECRET`, of one header
_VARIABLE = re.compile(r"([A-Za-z_]\w*=file:)([^\s'\"]+)")  # among NAME=VALUE texts
_TRACE = re.compile(r"^(trace:)(.+)$", re.DOTALL)
_TRACE_ENDS = re.compile(r"(?:,scaled|,speed=[^,]*)?(?:,method=[^,]*)?$")
_OF_ENVIRONMENT = re.compile(r"[^:]*:\s*env:(.+)", re.DOTALL)
_WHOLE = re.compile(r"^()(.+)$", re.DOTALL)
_FOLDER = re.compile(r"(?<=[:,])(\s*folder\s*=\s*)([^,]+)")  # in the text of a neighbour
#: Keys whose value holds the name of a file among other words.
_WITHIN = {
    ("load", "auth"): _SECRET,
    ("load", "arrivals"): _TRACE,
    ("load", "header"): _HEADER,
    ("params", "environment"): _VARIABLE,
    ("neighbour",): _FOLDER,
}


def resolve(table: MutableMapping[str, Any], folder: Path, typed: Mapping[Key, str]) -> None:
    """Make the names of files in a study's table absolute, in place.

    Args:
        table: of the study, its factors flat; right or wrong.
        folder: of the study's file.
        typed: keys whose value was given on the command line.
    """
    here = Path.cwd()

    def base(*key: str | int) -> Path:
        return here if any(key[:n] in typed for n in range(1, len(key) + 1)) else folder.absolute()

    _put(table, "neighbour", ("neighbour",), base("neighbour"))
    services = table.get("services")
    for nth, service in enumerate(services if isinstance(services, list) else ()):
        for tail in _tails(service):
            node = service
            for part in tail[:-1]:
                node = node[part]
            _put(node, tail[-1], tail, base("services", nth, *tail))
        _levels(_within(service, "qos", "under"), lambda _: folder.absolute())
    _levels(table.get("factors"), lambda key: base("factors", key))
    _levels(table.get("design"), lambda _: folder.absolute())


def absolute(load: Mapping[str, V], folder: Path) -> dict[str, V]:
    """Keys of the generator's job, given elsewhere than in a study, with absolute names of files.

    >>> absolute({"ca_file": "ca.pem", "insecure": True}, Path("/tls"))
    {'ca_file': '/tls/ca.pem', 'insecure': True}
    >>> absolute({"option": {"descriptor": "a.pb", "window": "64KiB"}}, Path("/pb"))
    {'option': {'descriptor': '/pb/a.pb', 'window': '64KiB'}}
    """
    return {key: cast("V", _of_key(key, value, folder)) for key, value in load.items()}


def _of_key(key: str, value: object, folder: Path) -> object:
    """The value of a key of the job with absolute names of files, the protocol's options too."""
    if not isinstance(value, Mapping):
        return _resolved(("load", key), value, folder)
    return {name: _resolved(("load", key, name), text, folder) for name, text in value.items()}


def named(load: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Files that a service's `load` has the generator read: the key, and the name.

    >>> list(named({"auth": "bearer:file:/t", "arrivals": "trace:/log,speed=2"}))
    [('auth', PosixPath('/t')), ('arrivals', PosixPath('/log'))]
    """
    for key, value in load.items():
        text = value if isinstance(value, str) else ""
        if key == "auth" and (match := _SECRET.fullmatch(text)):
            yield key, Path(match[2])
        elif key == "arrivals" and (match := _TRACE.fullmatch(text)):
            yield key, Path(_TRACE_ENDS.sub("", match[2]))
        elif text and _is_read(key):
            yield key, Path(text)
        elif key == "option" and isinstance(value, Mapping):
            yield from ((f"option.{of}", Path(value[of])) for of in OPTIONS if value.get(of))
        elif key == "header":
            yield from (
                (key, Path(result[2])) for result in map(_HEADER.fullmatch, value) if result
            )


def unreadable(path: Path) -> str:
    """Why a file cannot be read; "" if it can. A pipe is not waited for."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError as error:
        return str(error.strerror)
    return "it is a folder" if path.is_dir() else ""


def variables(load: Mapping[str, Any]) -> tuple[str, ...]:
    """Variables of the environment that hold secrets of a service's `load`.

    >>> variables({"auth": "basic:env:TOK", "header": ["X-Key: env:KEY", "A: b"]})
    ('TOK', 'KEY')
    >>> variables({"auth": "basic:file:tok"})
    ()
    """
    texts = (str(load.get("auth") or ""), *load.get("header", ()))
    return tuple(result[1] for result in map(_OF_ENVIRONMENT.fullmatch, texts) if result)


def _is_read(key: str) -> bool:
    return key in READ or key.endswith("_file")


def _tails(service: object) -> Iterator[tuple[str, ...]]:
    """Where in a service's table a name of a file may stand."""
    for part in ("load", "params", *(table for table, _ in form.current().neighbours)):
        node = service.get(part) if isinstance(service, Mapping) else None
        if isinstance(node, MutableMapping):
            yield from ((part, key) for key in node)
            option = node.get("option")
            if isinstance(option, MutableMapping):
                yield from ((part, "option", key) for key in option)


def _levels(node: object, base: Callable[[str], Path]) -> None:
    """Resolve levels of factors wherever they stand below a node, each by its key."""
    if isinstance(node, list):
        for item in node:
            _levels(item, base)
    elif isinstance(node, MutableMapping):
        for key, value in node.items():
            if isinstance(value, MutableMapping) or _has_tables(value):
                _levels(value, base)
            else:
                _put(node, key, _tail_of(key), base(key))


def _has_tables(value: object) -> bool:
    return isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value)


def _within(table: object, *keys: str) -> object:
    """What is below some keys; None if it is no table on the way."""
    for key in keys:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _tail_of(key: str) -> tuple[str, ...]:
    """`services.LABEL.load.paths_file` → `("load", "paths_file")`; other keys as they are."""
    parts = tuple(key.split("."))
    return parts[2:] if parts[0] == "services" else parts


def _put(table: MutableMapping[str, Any], key: str, tail: tuple[str, ...], base: Path) -> None:
    """Resolve a value, or each of a list, where it is."""
    value = table.get(key)
    if isinstance(value, list):
        table[key] = [_resolved(tail, item, base) for item in value]
    elif value is not None:
        table[key] = _resolved(tail, value, base)


def _resolved(tail: tuple[str, ...], value: object, base: Path) -> object:
    """A value with the file that it names made absolute; all others as they are."""
    form = _form(tail)
    if form is None or not isinstance(value, str):
        return value
    return form.sub(lambda result: result[1] + _absolute(result[2].strip(), base), value)


def _form(tail: tuple[str, ...]) -> re.Pattern[str] | None:
    """Where in a value of this key the name of a file stands; None: in none."""
    match tail:
        case ("load", "option", key):
            is_name = key in OPTIONS
        case ("load", key):
            is_name = _is_read(key)
        case ("params", key):
            is_name = key in PARAMS
        case _:
            is_name = False
    if is_name:
        return _WHOLE
    return _FOLDER if tail in form.current().neighbours else _WITHIN.get(tail)


def _absolute(name: str, base: Path) -> str:
    return str(base / disk.with_home(name)) if name else name
