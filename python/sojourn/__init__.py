"""Sojourn: a tail-latency lab. `pipeline.py` is the whole program on one screen.

In a notebook: `sojourn.open("latency_vs_load").points`, `sojourn.records()` (docs/howto/python.md).
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"
_API = "sojourn.api"  # loaded when it is asked for: a start must not wait for statistics


def open(record: Any = None, results: Any = "results") -> Any:  # noqa: A001 - sojourn.open
    """A record (`sojourn.api.Opened`): its folder, a part of its name, or its study.

    Args:
        record: what is meant; None: the newest.
        results: folder of results in which a name is looked for.
    """
    return import_module(_API).open_record(record, results)


def records(results: Any = "results") -> Any:
    """All records of a folder as a pandas table, newest first."""
    return import_module(_API).listed(results)
