"""What an entry point hands to modules below it, which may not import it.

`sojourn.spec` reads study files without a list of questions, and each question adds keys to them.
The command line and the tests therefore hand in a function that makes the whole form. It is called
when the first study is read, so that `sojourn --help` need not load it.
"""

from __future__ import annotations

from collections.abc import Callable

STUDY_FORM = "study form"  # a `sojourn.spec.form.Form`

Source = Callable[[], object]
_SOURCES: dict[str, Source] = {}


def hand_in(name: str, source: Source) -> None:
    """Let `source` make what is called `name`; a later one replaces it."""
    _SOURCES[name] = source


def source(name: str) -> Source | None:
    """What makes the thing of that name; None if no entry point handed anything in."""
    return _SOURCES.get(name)
