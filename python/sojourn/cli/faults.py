"""How the program ends on an error: what, where, how to fix it; no traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path

import typer
from typer.exceptions import TyperException

from sojourn.cli.draw import escape, to_stderr
from sojourn.disk.spent import SPENT
from sojourn.errors import BUG, Exit, Fault

_FREE = "free space there (df -h, df -i), then repeat; what was measured is saved"
_UNWRITABLE = {
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EROFS: "mount it writable, or name another folder (--results, SOJOURN_STATE, TMPDIR)",
}
_NO_TEMPORARY = "No usable temporary directory"  # of Python
_NO_THREAD = ("can't start new thread", "can't spawn worker thread")  # of Python, of its Rust


def guarded(program: Callable[[], int | None]) -> int:
    """Run `program`; turn whatever it raises into a message and an exit code."""
    try:
        code = program() or Exit.OK
        if code == Exit.INTERRUPTED and not isinstance(code, Exit):
            say("stopped")  # the library took ^C and gave a bare number; a command says it itself
        return int(code)
    except BaseException as error:  # noqa: BLE001 - the last line before a person
        return ended(error)


def ended(error: BaseException) -> int:
    """Print what ended the program; returns the exit code."""
    code: int = Exit.FAILED
    match error:
        case typer.Exit():
            code = error.exit_code
        case SystemExit():  # shell completion ends so, and Rich when its reader has gone
            is_pipe = isinstance(error.__context__, BrokenPipeError)
            code = error.code if isinstance(error.code, int) and not is_pipe else Exit.OK
        case Fault():
            print_fault(error.what, error.at, error.fix)
            code = error.exit
        case TyperException():
            what, at, fix = _usage(error)
            if what:  # else the help was shown, and says it all
                print_fault(what, at, fix)
            code = Exit.USAGE
        case KeyboardInterrupt() | typer.Abort():
            say("stopped")
            code = Exit.INTERRUPTED
        case BrokenPipeError():  # `sojourn show | head`: the reader has seen enough
            drop_stdout()
            code = Exit.OK
        case OSError(errno=errno.ENOSPC, filename=None) if _may_be_full():  # files have names
            print_fault(
                "cannot write to standard output: no space left", "stdout", "free space there"
            )
            drop_stdout()
        case _:
            if text := _spent(error):
                print_fault(text[0], _place(error), text[1])
            else:
                _unforeseen(error)
    return code


def _may_be_full() -> bool:
    """Whether stdout goes to something that can be full: a file, or a device such as /dev/full."""
    try:
        mode = os.fstat(sys.stdout.fileno()).st_mode
    except (OSError, ValueError, AttributeError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISCHR(mode)


def _spent(error: BaseException) -> tuple[str, str] | None:
    """What to say where the machine has no more of something; None: it is something else."""
    if isinstance(error, MemoryError):
        return (
            "there is not enough memory for this",
            "end other programs, or run it where more is free; what was measured is saved",
        )
    if isinstance(error, OSError) and error.filename == os.devnull:
        fix = f"mknod -m 666 {os.devnull} c 1 3, or start the container with its usual devices"
        return f"no program can be started: {os.devnull}: {error.strerror}", fix
    is_thread = any(words in str(error) for words in _NO_THREAD)
    if is_thread or _is_of_fork(error):
        what = "thread" if is_thread else "process"
        return (
            f"cannot start a {what}: a limit of processes or memory is reached",
            "end other programs, or raise ulimit -u or pids.max of the control group, and repeat",
        )
    if isinstance(error, OSError) and str(error.strerror).startswith(_NO_TEMPORARY):
        fix = "set TMPDIR to a folder that can be written, or start the container with --tmpfs /tmp"
        return "no folder for temporary files can be written", fix
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        named = f" {error.filename}" if error.filename else ""
        return f"cannot write{named}: {error.strerror}", _UNWRITABLE[error.errno]
    return SPENT.get(error.errno) if isinstance(error, OSError) else None


def _is_of_fork(error: BaseException) -> bool:
    """Whether a process could not be started; a full pipe has the same number."""
    if not isinstance(error, OSError) or error.errno != errno.EAGAIN:
        return False
    steps = traceback.extract_tb(error.__traceback__)
    return any(Path(step.filename).name == "subprocess.py" for step in steps)


def _place(error: BaseException) -> str:
    """Where in the lab's code it came up."""
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if "sojourn" in Path(step.filename).parts]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def drop_stdout() -> None:
    """What is still buffered for a stdout that takes nothing would fail again at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unforeseen(error: BaseException) -> None:
    saved = _save(error)
    print_fault(
        f"unexpected error: {type(error).__name__}: {error}",
        str(saved) if saved else "the traceback could not be saved",
        f"{BUG}: please report it with that file; measured points are not lost",
    )


def print_fault(what: str, at: str, fix: str) -> None:
    """The three parts, on stderr."""
    console = to_stderr()
    console.print(f"[bold red]error:[/] {_in_one(what)}")
    if at:
        console.print(f"  [dim]at:[/] {_in_one(at)}")
    if fix:
        console.print(f"  [dim]fix:[/] {_in_one(fix)}")


def _in_one(text: str) -> str:
    """A part in one line: with a line of its own a record could say `fix:` itself."""
    return escape(" | ".join(line.strip() for line in text.split("\n") if line.strip()))


def say(text: str) -> None:
    """Talk: to stderr, so that stdout is data."""
    to_stderr().print(escape(text))


def _usage(error: TyperException) -> tuple[str, str, str]:
    """A wrong command line. The library's classes differ between releases, their texts do not."""
    message = getattr(error, "format_message", None)
    what = message() if callable(message) else str(error)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "sojourn"
    return what.strip(), path, f"see: {path} --help"


def _save(error: BaseException) -> Path | None:
    try:
        handle, name = tempfile.mkstemp(prefix="sojourn-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)))
    except OSError:
        return None
    return Path(name)
