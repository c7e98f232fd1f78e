"""`python -m sojourn`, and what the `sojourn` launcher starts."""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from sojourn import built, system
from sojourn.errors import Exit

#: When garbage is looked for: Python's 700 new objects come often while modules are loaded. With
#: 50,000 a report of 10,000 points took twice the memory, because charts hold themselves.
SELDOM = (10_000, 10, 10)


def start() -> int:
    """Load and run the command line; ^C ends it in order even while Python still loads it."""
    gc.set_threshold(*SELDOM)
    try:
        return _ran()
    finally:
        # What is left ends with the process: to look through it takes a fifth of a short command.
        if "duckdb" not in sys.modules:  # it writes about what was not collected
            gc.freeze()


def _ran() -> int:
    _open_closed()
    _leave_own_folder()
    _compute_in_one_thread()
    try:
        if sys.argv[1:] == ["--version"] and _printed_version():
            return 0
        if why := system.refusal() or _no_folder():
            sys.stderr.write(why)
            return Exit.USAGE
        try:
            from sojourn.cli.app import main  # noqa: PLC0415
        except (MemoryError, OSError, ImportError) as error:
            return _not_loaded(error)
        return main()
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130


def _not_loaded(error: MemoryError | OSError | ImportError) -> int:
    """Report that the commands could not be loaded; `cli.faults` belongs to what is missing."""
    why = str(error) or "there is not enough memory"
    fix = "end other programs or allow more files (ulimit -n); if it stays, install sojourn again"
    sys.stderr.write(f"error: sojourn cannot be loaded: {why}\n  at: {sys.prefix}\n  fix: {fix}\n")
    return Exit.FAILED


def _open_closed() -> None:
    """Open what is closed of stdin, stdout and stderr, to read and write nothing.

    The launcher does the same. Else the next file that is opened has the number, and what is
    printed goes into it.
    """
    with contextlib.suppress(OSError):
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # it has the lowest free number
                setattr(sys, name, None)
            if getattr(sys, name) is None:
                file = os.fdopen(number, "w" if number else "r", closefd=False)
                setattr(sys, name, file)


def _leave_own_folder() -> None:
    """Take the folder in which it is started, and others by relative names, out of `PATH`.

    A program of that name in a colleague's results would be started, as root.
    """
    folders = os.environ.get("PATH", "").split(os.pathsep)
    if selected := [folder for folder in folders if folder.startswith("/")]:
        os.environ["PATH"] = os.pathsep.join(selected)
    else:
        os.environ.pop("PATH", None)  # the system's own; an empty one means this folder


def _compute_in_one_thread() -> None:
    """Keep OpenBLAS, by which numpy and scipy compute, from starting threads.

    It starts one a CPU when it is loaded, and the lab's vectors and matrices are too small for
    them. Where one cannot be started it sends SIGINT to its own process, as if by ^C.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _no_folder() -> str:
    """Why nothing can be done here: another program removed the folder; "" if it did not."""
    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs a start 10 ms
    except OSError as error:
        return f"error: {error.strerror}\n  at: the folder in which it is started\n  fix: cd ~\n"
    return ""


def _printed_version() -> bool:
    """Scripts ask for it often, so it is printed without loading the commands, which take 60 ms.

    False where it could not be written: the command line says so in its own words.
    """
    try:
        sys.stdout.write(f"{built.line()}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # a full disk, a closed pipe, or no stdout at all
        return False
    return True


if __name__ == "__main__":
    sys.exit(start())
