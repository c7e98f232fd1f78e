"""Versions of all that has a part in a result: servers, native tools, Python, the checkout."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

from sojourn import built, programs

#: Program, the flag that makes it say its version, and where in the answer that stands.
ASKED = (
    ("memcached", "-V", r"memcached (\S+)"),
    ("nginx", "-v", r"nginx/(\S+)"),
    ("redis-server", "--version", r"v=(\S+)"),
    ("sojourn-counters", "--version", r"(\d\S*)"),
    ("sojourn-load", "--version", r"(\d\S*)"),
    ("sojourn-noise", "--version", r"(\d\S*)"),
    ("sojourn-query", "--version", r"(\d\S*)"),
    ("sojourn-sched", "--version", r"(\d\S*)"),
    ("sojourn-serve", "--version", r"(\d\S*)"),
    ("sojourn-trace", "--version", r"(\d\S*)"),
    ("perf", "--version", r"version (\S+)"),
    ("git", "--version", r"version (\S+)"),
)
LIBRARIES = ("sojourn", "numpy", "scipy", "statsmodels", "hdrhistogram", "pyarrow", "duckdb")
ANSWER_S_MAX = 5.0


def versions() -> tuple[tuple[str, str], ...]:
    """Name and version of what is there; what is not is left out."""
    asked = ((name, _version(name, flag, pattern)) for name, flag, pattern in ASKED)
    libraries = ((name, _library(name)) for name in LIBRARIES)
    python = ("python", platform.python_version())
    return tuple((name, version) for name, version in (python, *asked, *libraries) if version)


def checkout() -> str:
    """Commit of the checkout this package lies in, with "+" if files were changed.

    Else the first digits of the one that it was built from; "" if neither is known.
    """
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return built.commit()
    sha = _git(root, "rev-parse", "HEAD")
    changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{sha}+" if sha and changed else sha


def _version(name: str, flag: str, pattern: str) -> str:
    path = programs.maybe(name)
    match = re.search(pattern, programs.says(path, flag)) if path else None
    return match.group(1) if match else ("installed" if path else "")


def _library(name: str) -> str:
    from importlib import metadata  # noqa: PLC0415 - slow to load, and few ask

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _git(root: Path, *words: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True,
            text=True,
            timeout=ANSWER_S_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
