"""`python -m sojourn`, and what the `sojourn` launcher starts."""

from __future__ import annotations

import sys

from sojourn.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
