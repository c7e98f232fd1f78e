"""`python -m sojourn`, and what the `sojourn` launcher starts."""

from __future__ import annotations

import os
import sys

from sojourn import built, system
from sojourn.errors import Exit


def start() -> int:
    """Load and run the command line; ^C ends it in order even while Python still loads it."""
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
