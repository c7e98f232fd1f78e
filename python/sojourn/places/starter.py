"""What the first process of a container is before it is the program: it drops all rights.

Not each runtime gives its program the user, the few words of environment and the umask that it has
on bare metal, nor takes all rights from it; nspawn looks its user up by name and wants a home for
it. So the runtime is told to start a shell, which becomes `setpriv`, then `env`, then the program:
one process all the while, found in every machine, and nothing of it is left when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sojourn import programs
from sojourn.places import process
from sojourn.places.users import User

NAME = "sojourn-start"  # how the shell's words are known again
SHELL = ("/bin/sh", "-c", 'umask 077; exec "$@"', NAME)
#: No capability is left, not even to the superuser, and no program that is started gains one.
NO_RIGHTS = ("--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")
SETPRIV, ENV = "setpriv", "env"


def words(user: User | None, environment: Mapping[str, str] = process.NO_MORE) -> tuple[str, ...]:
    """Words before those of a program, for a runtime to start. Everybody on this machine sees them.

    Args:
        user: whom it becomes; None: it stays who the runtime is.
        environment: variables beside those that each program has.

    Raises:
        HostFault: the machine lacks what every Debian has.
    """
    setpriv = programs.find(SETPRIV, fix="apt install util-linux")
    env = programs.find(ENV, fix="apt install coreutils")
    who = (f"--reuid={user.uid}", f"--regid={user.gid}", "--clear-groups") if user else ()
    reports = (
        f"{name}={value}" for name, value in {**process.environment(), **environment}.items()
    )
    return (*SHELL, str(setpriv), *who, *NO_RIGHTS, str(env), "-i", *reports)


def is_one(command: Sequence[str]) -> bool:
    """Whether a process with this command line is not the program yet."""
    head = Path(command[0]).name if command else ""
    is_setpriv = head == SETPRIV and NO_RIGHTS[0] in command
    return NAME in command[:4] or is_setpriv or (head == ENV and command[1:2] == ["-i"])
