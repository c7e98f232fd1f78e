"""What goes wrong, in the three parts that a person needs, and how the program ends.

    Fault
    ├── SpecFault      the study or command line is wrong          exit 2
    │   └── AbsentFault   right, but not on this machine
    ├── HostFault      this machine cannot do it                   exit 2
    │   └── SkippedFault  nor any combination of a study       exit 3
    ├── RunFault       server, tool, disk or kernel failed         exit 4
    └── StoreFault     a results folder cannot be read or written  exit 4

The native tools print the same three parts and end with the same codes.
"""

from __future__ import annotations

from enum import IntEnum

BUG = "this is a bug in sojourn"  # reported about what is no fault of the input


class Exit(IntEnum):
    """How a program of the lab ends; the same numbers as in the native tools."""

    OK = 0
    VIOLATED = 1
    USAGE = 2
    UNKNOWN = 3
    FAILED = 4
    INTERRUPTED = 130


class Fault(Exception):  # noqa: N818  # it says what, where and how to fix it
    """An error with what went wrong, where, and how to fix it."""

    exit = Exit.FAILED

    def __init__(self, what: str, *, at: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.at = at
        self.fix = fix

    def __str__(self) -> str:
        return f"error: {self.what}\n  at: {self.at}\n  fix: {self.fix}"


class SpecFault(Fault):
    """The study, job or command line is wrong; known before anything was started.

    Attributes:
        each: every mistake where there are several, this one first; else nothing.
    """

    exit = Exit.USAGE
    each: tuple[SpecFault, ...] = ()


class AbsentFault(SpecFault):
    """The study names something that this machine has not, such as a CPU; elsewhere it is right."""


class HostFault(Fault):
    """This machine cannot do what is asked; known before anything was started."""

    exit = Exit.USAGE


class SkippedFault(HostFault):
    """Nothing of a study can be measured on this machine: all its combinations are skipped."""

    exit = Exit.UNKNOWN


class RunFault(Fault):
    """Something outside the lab failed while it ran."""


class StoreFault(Fault):
    """A results folder cannot be read or written."""
