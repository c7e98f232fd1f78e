"""What an agent answers, held against its form.

Another host's program may be damaged. An answer of another form counts as none, so its host is
lost, as one that hangs is. Who may be in a cluster can run programs on all of its machines, so this
holds off faults and no attacks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from sojourn.errors import Fault, SpecFault
from sojourn.hosts.engine import Facts, LostError

FILE_BYTES = 1 << 30  # of one file that is handed over
NONSENSE = "its answer makes no sense"
FILES_MAX = 4096  # of all folders of a point
NAME_BYTES = 255  # of a file
TEXT_MAX = 2000  # letters of each part of a fault
FACTS = ("boot", "time", "net", "mnt")
PARTS = ("kind", "what", "at", "fix")  # of a fault
WRONG = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)


@contextlib.contextmanager
def sensible() -> Iterator[None]:
    """What an answer is used for in here.

    Raises:
        LostError: it cannot be, because it has another form.
    """
    try:
        yield
    except WRONG:
        raise LostError(NONSENSE) from None


def table(answer: object) -> dict[str, Any]:
    """An answer that is a table; LostError if it is none."""
    if not isinstance(answer, Mapping):
        raise LostError(NONSENSE)
    return {str(key): value for key, value in answer.items()}


def facts(answer: Mapping[str, Any]) -> Facts:
    """Facts of a host, each of its kind; LostError if one is not."""
    with sensible():
        return {
            **answer,
            **{key: str(answer.get(key, "")) for key in FACTS},
            "cpus": [int(cpu) for cpu in listed(answer["cpus"])],
            "features": [str(name) for name in listed(answer["features"])],
        }


def fault(answer: object) -> dict[str, str] | None:
    """A fault that is handed over, or None for none; LostError if it is neither."""
    if answer is None:
        return None
    with sensible():
        own = table(answer)
        return {key: str(own[key])[:TEXT_MAX] for key in PARTS}


def plain(fault: Fault) -> dict[str, str]:
    """A fault as it is handed over."""
    kind = "spec" if isinstance(fault, SpecFault) else "run"
    return {"kind": kind, "what": fault.what, "at": fault.at, "fix": fault.fix}


def content(answer: object) -> bytes:
    """A file; LostError if it is none, or larger than any."""
    if not isinstance(answer, bytes) or len(answer) > FILE_BYTES:
        raise LostError(NONSENSE)
    return answer


def files(answer: object) -> list[dict[str, bytes]]:
    """Files of folders, each by a plain name; LostError if they are none, or more than any."""
    with sensible():
        every = [
            {_name(name): content(one) for name, one in table(own).items()}
            for own in listed(answer)
        ]
    sizes = [len(one) for of in every for one in of.values()]
    if len(sizes) > FILES_MAX or sum(sizes) > FILE_BYTES:
        raise LostError(NONSENSE)
    return every


def line(answer: object) -> dict[str, Any]:
    """A line of a stage; LostError if it is none."""
    own = table(answer)
    with sensible():
        own["say"] = _text(own["say"])
        if own["say"] in {"done", "fault"}:
            own["fault"] = fault(own["fault"])
        if own["say"] == "fault" and own["fault"] is None:
            raise LostError(NONSENSE)
        if own["say"] == "event":
            own |= {key: _text(own[key]) for key in ("step", "text", "service")}
    return own


def listed(answer: object) -> list[Any]:
    """An answer that is a list; LostError if it is none."""
    if not isinstance(answer, list | tuple):
        raise LostError(NONSENSE)
    return list(answer)


def _name(value: str) -> str:
    if set(value) & {"/", "\0"} or not 0 < len(value.encode()) <= NAME_BYTES:
        raise ValueError("it is no name of a file")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("it is no text")
    return value
