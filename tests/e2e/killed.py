"""Labs that kill themselves: the Nth makes and unmakes something, and dies before its Nth step.

python killed.py WHAT STATE [WORD …]

WORD: of "container", its place; of "cpuset", the first process of a session; of "knob", the same,
then knob and two levels; of "process", the name that it is known by.
Each lab is a fork and has its journal in STATE/N. How it ended is told as a line, its exit status
or minus its signal; the next begins when a line is read. The last ends with 0: it had fewer steps.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sojourn import knobs, places
from sojourn.disk import tree
from sojourn.knobs import groups, htb, settings
from sojourn.places import cgroups, inside, network, process, remains, rootfs
from sojourn.places.guest import initrd
from sojourn.run import work
from sojourn.run.journal import Journal

NETWORK = ("make", "add_bridge", "add_pair", "add_tap", "join", "bring_up", "delete", "remove")
STEPS: list[tuple[Any, str]] = [
    *((network, name) for name in NETWORK),
    *((settings, name) for name in ("change", "put_back")),
    *((groups, name) for name in ("_mkdir", "_rmdir", "write")),
    *((htb, name) for name in ("make", "_class", "remove")),
    *(
        (rootfs, "make"),
        (initrd, "write"),
        (inside, "hold"),
        (remains.Remains, "clear"),
        (cgroups, "remove"),
    ),
    *((process.Process, name) for name in ("await_start", "stop")),
    *(
        (Path, "mkdir"),
        (Path, "touch"),
        (shutil, "rmtree"),
        (tree, "remove"),
        (subprocess, "Popen"),
    ),
    *((Journal, name) for name in ("note", "undone")),
]


def netns(journal: Journal) -> None:
    """Enter a place and leave it."""
    place = places.kind("netns").build()
    place.enter(journal)
    place.leave()


def container(journal: Journal) -> None:
    """Start a program in a container, and stop it."""
    place = places.build(sys.argv[3])
    place.enter(journal)
    folder = Path(sys.argv[2])
    words = ["/bin/sh", "-c", "sleep 600; :"]
    made = place.start(
        places.Launch("program", words, cwd=folder, ledger=journal, log=folder / "log")
    )
    made.stop(term_s=0.1)  # a first process of its namespace is deaf to what it does not handle
    place.leave()


def cpuset(journal: Journal) -> None:
    """Turn it twice, and back."""
    turn(journal, "cpuset", "0", "1")


def knob(journal: Journal) -> None:
    """Turn any knob twice, and back."""
    turn(journal, *sys.argv[4:])


def turn(journal: Journal, name: str, *levels: str) -> None:
    """Turn a knob of a session to some levels, and back."""
    work = Path(sys.argv[2])
    on = knobs.Turned(label="web", leader=int(sys.argv[3]), book=journal, work=work, port=7777)
    one = knobs.kind(name).build(on)
    for level in levels:
        one.apply(level)
    one.restore()


def folder(journal: Journal) -> None:
    """Make a working folder, fill it, remove it."""
    made, entry = work.make(journal, None)
    (made / "file").write_text("x", encoding="ascii")
    work.remove(made, entry, journal)


def program(journal: Journal) -> None:
    """Start a program that is known by its argument, and stop it."""
    words = ["/bin/sh", "-c", "sleep 600; :", sys.argv[3]]
    log = journal.path.parent.parent / "log"
    made = process.start("program", words, cwd=Path("/"), ledger=journal, log=log)
    made.stop()


WHAT: dict[str, Callable[[Journal], None]] = {
    "netns": netns,
    "cpuset": cpuset,
    "knob": knob,
    "folder": folder,
    "process": program,
    "container": container,
}


def lab(last: int) -> None:
    """Do it, and die before step `last`."""
    seen = 0

    def mortal(step: Callable[..., Any]) -> Callable[..., Any]:
        def act(*args: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*args, **named)

        return act

    journal = Journal.create(Path(sys.argv[2]) / str(last))
    for owner, name in STEPS:
        setattr(owner, name, mortal(getattr(owner, name)))
    WHAT[sys.argv[1]](journal)
    journal.close()


def main() -> None:
    for number in itertools.count(1):
        pid = os.fork()
        if pid == 0:
            lab(number)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201  # to who started it
        if status == 0 or not sys.stdin.readline():
            return


if __name__ == "__main__":
    main()
