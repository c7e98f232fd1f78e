"""Names of a package that are loaded when they are first asked for.

A command that prints one table must not wait for databases, statistics and figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from sys import modules
from typing import Any


def names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """A package's `__getattr__` (PEP 562).

    Args:
        package: its name.
        homes: what each of its modules gives, by the module's name, `x` or `x as y`. None may be
            called as a module of the package is, because Python puts the module under that name.

    >>> names("sojourn", {"units": ["show_ns"]})("show_ns")(1500.0)
    '1.50 µs'
    """
    home_of = {
        text.split()[-1]: (home, text.split()[0])
        for home, exports in homes.items()
        for text in exports
    }

    def find(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        home, known_as = home_of[name]
        value = getattr(import_module(f"{package}.{home}"), known_as)
        setattr(modules[package], name, value)
        return value

    return find
