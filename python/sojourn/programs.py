"""Where the lab's own native tools and the servers it starts are found.

One function for all of them: beside the interpreter (a wheel or `make build` puts them there),
then on `PATH`, then in the sbin folders that a user's `PATH` often lacks (nginx), then in the
checkout's `target/release`. A tool that is not found names every place that was looked at.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from sojourn.errors import HostFault

ANSWER_S_MAX = 10.0
SBIN = (Path("/usr/local/sbin"), Path("/usr/sbin"), Path("/sbin"))


def places() -> tuple[Path, ...]:
    """Return the folders in which programs are looked for, first match wins."""
    # Not resolved: in a virtual environment the interpreter is a link out of the environment.
    beside = Path(sys.executable).parent
    named = os.environ.get("PATH", "").split(os.pathsep)
    on_path = tuple(Path(p) for p in named if p.startswith("/"))  # the current folder is not asked
    return tuple(dict.fromkeys((beside, *on_path, *SBIN, *_checkout())))


def _checkout() -> tuple[Path, ...]:
    """`target/release` of the checkout this package lies in, if it lies in one."""
    root = Path(__file__).resolve().parents[2]
    return (root / "target" / "release",) if (root / "Cargo.toml").is_file() else ()


def find(name: str, *, fix: str | None = None) -> Path:
    """Find a program by name.

    Args:
        name: "sojourn-load", "memcached", …
        fix: what installs it; by default what installs the lab's own tools.

    Raises:
        HostFault: it is nowhere; the message lists every place looked at.
    """
    looked = places()
    for folder in looked:
        result = shutil.which(name, path=str(folder))
        if result:
            return Path(result)
    raise HostFault(
        f"program {name} is not installed",
        at=", ".join(str(folder) for folder in looked),
        fix=fix or "run `make build` in the checkout, or install the sojourn wheel with pip",
    )


def maybe(name: str) -> Path | None:
    """Find a program by name, or None."""
    try:
        return find(name)
    except HostFault:
        return None


@cache
def says(path: Path, flag: str) -> str:
    """What a program answers to a flag such as `--version`; "" if it does not."""
    try:
        done = subprocess.run(
            [path, flag],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=ANSWER_S_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).strip()
