"""What the generator finds in its environment beside what every program of the lab finds there."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sojourn.spec import files

#: Variables that name files with the certificates of trusted issuers, or folders of such files.
ISSUERS, FOLDERS = "SSL_CERT_FILE", "SSL_CERT_DIR"


def of(job: Mapping[str, Any]) -> dict[str, str]:
    """Variables of the lab's environment that the generator needs for a job.

    They are the names of trusted issuers, relative to the folder in which the lab was started, and
    those variables that the job names as the places of its secrets. The generator runs in a folder
    of the record, with a small environment.
    """
    results = {}
    if named := os.environ.get(ISSUERS):
        results[ISSUERS] = os.path.abspath(named)  # noqa: PTH100  # a text for another program
    if named := os.environ.get(FOLDERS):
        results[FOLDERS] = os.pathsep.join(map(os.path.abspath, named.split(os.pathsep)))
    secrets = {name: os.environ[name] for name in files.variables(job) if name in os.environ}
    return {**secrets, **results}


def issuers() -> Iterator[Path]:
    """The files and folders that these variables name."""
    for name in (ISSUERS, FOLDERS):
        yield from map(Path, filter(None, of({}).get(name, "").split(os.pathsep)))
