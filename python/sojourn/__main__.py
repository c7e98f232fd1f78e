"""`python -m sojourn`, and what the `sojourn` launcher starts."""

from __future__ import annotations

import sys

from sojourn import __version__


def start() -> int:
    """Load and run the command line; ^C ends it in order even while Python still loads it."""
    try:
        if sys.argv[1:] == ["--version"] and _said_version():
            return 0
        from sojourn.cli.app import main  # noqa: PLC0415

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130


def _said_version() -> bool:
    """Scripts ask for it often: it is told without loading the commands, which take 60 ms.

    False where it could not be written: the command line says so in its own words.
    """
    try:
        sys.stdout.write(f"sojourn {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # a full disk, a closed pipe, or no stdout at all
        return False
    return True


if __name__ == "__main__":
    sys.exit(start())
