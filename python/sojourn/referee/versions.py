"""Whether this version of a tool was tried: another may measure otherwise."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from sojourn import programs
from sojourn.visible import in_line

#: Tools that were judged against a known truth (`bench/judge`): flag, and the version's begin.
TRIED: Mapping[str, tuple[str, str]] = {
    "wrk": ("-v", "4.1"),
    "autocannon": ("--version", "9."),
    "sojourn-load": ("--version", "0."),
}
#: Tried as well, and silent about their version when built by `go install`.
SILENT = frozenset({"bombardier", "hey", "vegeta"})
_VERSION = re.compile(r"\d{1,6}\.\d{1,6}(?:\.\d{1,6})?")


def remark(tool: str, argv: Sequence[str]) -> str:
    """What is to be known of a tool's version; "" if it was tried.

    Args:
        tool: as it was recognised.
        argv: the command line; a tool inside of a shell's command is not asked.
    """
    if not tool or tool in SILENT:
        return ""
    if tool not in TRIED:
        return f"What {tool} measures is as its documentation says; no version of it was tried."
    flag, begin = TRIED[tool]
    word = next((word for word in argv if PurePosixPath(word).name == tool), "")
    program = shutil.which(word) if word else None
    match = _VERSION.search(programs.says(Path(program), flag)) if program else None
    if match is None:
        return f"The version of {tool} is not known; {begin}x was tried."
    if match[0].startswith(begin):
        return ""
    return (
        f"Version {in_line(match[0])} of {tool} was not tried, {begin}x was: "
        "what it measures may differ."
    )
