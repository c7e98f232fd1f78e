"""The driver as a program: it is run by this path, and finds the rest of its folder by it."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path


def main() -> None:
    """Drive the job in the first argument, until it is ended."""
    sys.path.append(str(Path(__file__).parents[2]))  # last: the standard library goes first
    from sojourn.drive.job import Job  # noqa: PLC0415 - found from here on
    from sojourn.drive.pace import drive  # noqa: PLC0415 - the same

    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    drive(Job(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
