"""A command as it is typed: its parameters, and what it is refused for before it is started."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn.errors import HostFault, SpecFault
from sojourn.places import users
from sojourn.services.own import asked
from sojourn.services.params import Param, Value

AT = "service command"
TCP = "tcp"
SELF, SERVERS = "self", "nobody"
SIGNALS = ("TERM", "INT", "QUIT", "HUP", "USR1", "KILL")

PARAMS = (
    Param(
        name="argv",
        about="program and arguments, without a shell; {port}, {host}, {threads} and "
        "{work} (a folder for its files) are put in",
        default="",
        type=str,
    ),
    Param(
        name="target",
        about="target of the requests: a URL with {host} and {port}",
        default="http://{host}:{port}/",
        type=str,
    ),
    Param(
        name="ready",
        about='when it is ready: "" (it answers the requests), "tcp" (it takes a '
        'connection), or a path that answers 2xx, such as "/health"',
        default="",
        type=str,
    ),
    Param(
        name="ready_s",
        unit="s",
        about="time limit for that",
        default=30.0,
        type=float,
        lo=0.1,
        hi=3600,
    ),
    Param(
        name="threads",
        about='number of serving threads or processes, for {threads}; "cpus", "cpus+1": by the '
        "server's CPUs",
        default=1,
        lo=1,
        hi=1024,
        relative=True,
    ),
    Param(
        name="worker",
        about="name (or a pattern) of the threads or processes that serve, to be pinned one to a "
        "CPU; empty: they may be on all CPUs of the server",
        default="",
        type=str,
    ),
    Param(
        name="environment",
        about='more of it: "NAME=VALUE NAME=VALUE"; a secret by its place: "NAME=env:VARIABLE", '
        '"NAME=file:PATH"',
        default="",
        type=str,
    ),
    Param(
        name="environment_file",
        about="file with additional environment, NAME=VALUE on each line; the record has only "
        "its path",
        default="",
        type=str,
    ),
    Param(
        name="folder",
        about="working folder; empty: the folder in which sojourn was started",
        default="",
        type=str,
    ),
    Param(
        name="user",
        about="user that it runs as: self (whoever runs the lab), or nobody if the lab is root: a "
        "user without rights that no account and no other process has",
        default=SELF,
        type=str,
        choices=(SELF, SERVERS),
    ),
    Param(name="stop", about="the signal that ends it", default="TERM", type=str, choices=SIGNALS),
    Param(
        name="stop_s",
        unit="s",
        about="time from this signal to SIGKILL",
        default=5.0,
        type=float,
        lo=0,
        hi=600,
    ),
    Param(
        name="memory_bytes",
        unit="bytes",
        about="memory that it needs, in a place of its own",
        default=1 << 30,
        lo=1 << 20,
        hi=1 << 42,
    ),
    Param(name="port", about="the port; 0: a free one", default=0, lo=0, hi=65_535),
    *asked.PARAMS,
)


def split(name: str, got: Mapping[str, Value], fix: str) -> tuple[str, ...]:
    """The words of a parameter, as a shell has them; SpecFault where a quote is not closed."""
    try:
        return tuple(shlex.split(str(got[name] or "")))
    except ValueError as error:
        raise SpecFault(f"{name} cannot be read: {error}", at=f"{AT}, {name}", fix=fix) from None


def check_braces(text: str, *, port: int, is_reported_threads: bool) -> None:
    """Refuse a command that is not told its port, or not the threads that the study gives."""
    if "{port}" not in text and not port:
        raise SpecFault(
            "the command does not get its port",
            at=f"{AT}, argv",
            fix="write {port} for its port, or set port = 8080 if it is fixed",
        )
    if is_reported_threads and "{threads}" not in text:
        raise SpecFault(
            "threads is set, but the command does not use it",
            at=f"{AT}, threads",
            fix="write {threads} in argv or environment, or leave threads out",
        )


def check_files(words: Sequence[str], folder: Path, *, is_open: bool) -> None:
    """Refuse a folder or program that is not there, or that the user of servers cannot reach.

    Args:
        words: of the command.
        folder: where it runs.
        is_open: it runs as whoever runs the lab, who may read all of that.

    Raises:
        HostFault: what is missing or closed, with its fix.
    """
    if not folder.is_dir():
        fix = "make it, or give another folder"
        raise HostFault(f"there is no folder {folder}", at=f"{AT}, folder", fix=fix)
    first = words[0]
    has_slash = "/" in first
    program = str(folder / first) if has_slash else shutil.which(first)
    if program is None or (has_slash and shutil.which(program) is None):
        raise HostFault(
            f"there is no program {first}" + (f" in {folder}" if has_slash else ""),
            at=f"{AT}, argv",
            fix="give its full path, or install it; words of a shell need one: sh -c '…'",
        )
    named = [folder, Path(program), *(folder / word for word in words[1:] if "{" not in word)]
    # A text of a program may be too long for a name, and `Path.exists` raises then.
    there = (path for path in named if os.path.exists(path))  # noqa: PTH110
    closed = [path for path in there if not _is_reached(path)]
    if closed and not is_open:
        raise HostFault(
            f"user {SERVERS} cannot reach {closed[0]}",
            at=f"{AT}, user",
            fix=f'move it to where all may read it, or give user = "{SELF}"',
        )


def _is_reached(path: Path) -> bool:
    """Whether others may read a file, or enter a folder, and all folders above it."""
    return users.is_open(path, users.ENTER if path.is_dir() else users.READ)


def ready(text: str) -> str:
    """From when on it is ready, as it is asked; SpecFault where that is none of the ways."""
    if text in {"", TCP} or text.startswith("/"):
        return text
    raise SpecFault(
        f"ready is '{text}'", at=f"{AT}, ready", fix='give "", "tcp", or a path such as "/health"'
    )


def pattern(text: str) -> str:
    """A regular expression; SpecFault where it is none."""
    try:
        re.compile(text)
    except re.error as error:
        what = f"'{text}' is not a pattern: {error}"
        raise SpecFault(what, at=f"{AT}, worker", fix="give the threads' name") from None
    return text
