"""`python -m sojourn`, and what the `sojourn` launcher starts."""

from __future__ import annotations

import sys


def start() -> int:
    """Load and run the command line; ^C ends it in order even while Python still loads it."""
    try:
        from sojourn.cli.app import main  # noqa: PLC0415

        return main()
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        return 130


if __name__ == "__main__":
    sys.exit(start())
