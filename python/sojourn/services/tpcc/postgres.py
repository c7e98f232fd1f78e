"""Where PostgreSQL's programs are: the distribution's, those on PATH, or what was fetched."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sojourn import install, programs
from sojourn.errors import HostFault
from sojourn.install import shore

DISTRIBUTION = Path("/usr/lib/postgresql")
NEEDED = ("postgres", "initdb")
SHARE, ZONES = Path("/usr/share/postgresql"), Path("/usr/share/zoneinfo")
ANSWER_S_MAX = 10.0
COPY = "postgresql"


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """One installation.

    Attributes:
        root: the folder below which all of it lies; None: it is the machine's own.
        bins: of its programs, below the root if there is one.
        libraries: folders of libraries that the machine lacks, below the root.
    """

    root: Path | None
    bins: Path
    libraries: tuple[Path, ...] = ()

    @property
    def is_closed(self) -> bool:
        """Whether it is to be copied before another user can start it: a cache is its owner's."""
        return self.root is not None

    def program(self, name: str) -> Path:
        """Path of one of its programs."""
        return (self.root or Path("/")) / self.bins / name

    @property
    def carries(self) -> tuple[Path, ...]:
        """What its server opens by itself; a fetched one has it in the work folder."""
        if self.root is not None:
            return ()
        release = self.bins.parent.name
        libraries = sorted((self.bins.parent / "lib").glob("*.so"))
        return (SHARE / release, ZONES, *libraries)

    @property
    def environment(self) -> Mapping[str, str]:
        """What its programs need to find the libraries that came with them."""
        if self.root is None:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(str(self.root / one) for one in self.libraries)}

    @property
    def exported(self) -> str:
        """The same as words of a shell."""
        return "".join(
            f"export {name}={shlex.quote(value)}; " for name, value in self.environment.items()
        )

    def at(self, work: Path) -> Home:
        """The copy of it in a working folder."""
        return Home(root=work / COPY, bins=self.bins, libraries=self.libraries)

    def copied(self, work: Path) -> Home:
        """Copy it into a working folder."""
        copy = self.at(work)
        if self.root is not None and copy.root is not None:
            shutil.copytree(self.root, copy.root, symlinks=True)
        return copy

    def says(self, name: str, flag: str) -> str:
        """What one of its programs answers to a flag; "" if it does not."""
        if self.root is None:
            return programs.says(self.program(name), flag)
        try:
            done = subprocess.run(
                [self.program(name), flag],
                capture_output=True,
                text=True,
                check=False,
                timeout=ANSWER_S_MAX,
                env={**os.environ, **self.environment},
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.strip()


def home(distribution: Path = DISTRIBUTION) -> Home:
    """The newest of the distribution's, else the one on PATH, else the one that was fetched.

    Raises:
        HostFault: there is none, or a file of the fetched one has changed.
    """
    for folder in sorted(distribution.glob("*/bin"), key=_version, reverse=True):
        if _has_all(folder):
            return Home(root=None, bins=folder)
    on_path = programs.maybe(NEEDED[0])
    if on_path is not None and _has_all(on_path.resolve().parent):
        return Home(root=None, bins=on_path.resolve().parent)
    part = install.part(shore.NAME)
    if part.made() is None:
        raise HostFault(
            "PostgreSQL is not installed",
            at=f"{distribution}/*/bin, PATH, {part.folder}",
            fix=f"{part.command} (nothing of the machine changes), or apt install postgresql",
        )
    made = part.ready()
    return Home(
        root=made.at,
        bins=Path(made.facts["bin"]),
        libraries=tuple(map(Path, made.facts["libraries"].split(":"))),
    )


def _has_all(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in NEEDED)


def _version(folder: Path) -> tuple[int, ...]:
    """The release of a folder of programs: (15,) of `/usr/lib/postgresql/15/bin`."""
    return tuple(map(int, re.findall(r"\d+", folder.parent.name)))
