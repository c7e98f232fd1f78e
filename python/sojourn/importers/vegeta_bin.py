"""`vegeta attack`'s own results: Go's gob, which only Go reads; refused."""

from __future__ import annotations

import shlex

from sojourn.importers.file import File, fault
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Series


def is_it(head: str) -> bool:
    """Whether it begins as a gob of vegeta's result does: with the names of its fields."""
    return "Result" in head[:64] and "Latency" in head and "BytesOut" in head and "\x00" in head


def read(file: File, options: Options) -> list[Series]:  # noqa: ARG001 - nothing is read
    """Refused, with the command that converts it."""
    path = shlex.quote(str(file.path))
    raise fault(
        "it is vegeta's binary form, which only vegeta reads",
        file.at,
        f"vegeta encode --output results.json {path}    and open results.json",
    )


FORMAT = Format(
    name="vegeta-bin", about="vegeta attack's own form; convert it", is_it=is_it, read=read
)
