"""Becomes `sojourn-serve` with a service time that depends on how often it was started.

Usage: PYTHON planted_start.py SOJOURN_SERVE KIND FOLDER PORT. A file in FOLDER counts the starts.
"""

import math
import os
import random
import sys
from pathlib import Path

SERVICE_US, STARTS, RAMP, STALL = 1000, 0.05, 0.01, "30ms/2500ms"


def main() -> None:
    program, kind, folder, port = sys.argv[1:]
    at = Path(folder) / kind
    number = int(at.read_text()) if at.exists() else 0
    at.write_text(str(number + 1))
    factor = 1.0
    if kind == "starts":
        factor = math.exp(random.Random(number).gauss(0, STARTS))  # noqa: S311 - no secret
    elif kind == "ramp":
        factor = math.exp(RAMP * number)
    time = f"fixed:{factor * SERVICE_US:.1f}us"
    words = [program, "--port", port, "--service", time, "--free-writes"]
    os.execv(program, [*words, *(["--stall", STALL] if kind == "stalls" else [])])  # noqa: S606


if __name__ == "__main__":
    main()
