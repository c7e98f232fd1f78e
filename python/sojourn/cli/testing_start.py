"""Starts a command as a person does, and names the modules that it loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from sojourn import spec

HEAVY = ("numpy", "scipy", "statsmodels", "pandas", "pyarrow", "duckdb", "altair", "jinja2")
PACKAGE = Path(spec.__file__).parents[2]
SCRIPT = """
import json, sys
from sojourn.cli.app import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""
DRAWS = {"altair", "jinja2", "vl_convert", "narwhals"}
TESTS = {"statsmodels", "pandas", "scipy.stats", "scipy.optimize", "scipy.special"}
STORES = {"pyarrow", "duckdb"}


def started(*arguments: str, **variables: str) -> tuple[int, str, set[str]]:
    """Exit code, stdout, and the names of what was imported."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, *arguments],
        env={**os.environ, "PYTHONPATH": str(PACKAGE), **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    return code, done.stdout, set(modules)
