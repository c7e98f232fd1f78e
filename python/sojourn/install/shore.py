"""PostgreSQL for the service shore: the distribution's packages, unpacked for the lab alone.

Which packages these are follows from the distribution's release and from what the machine has: apt
says what installing PostgreSQL would bring. Of that the server is stored, with the libraries it
needs; managers of clusters, clients, compilers and Perl are not.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from sojourn.errors import HostFault
from sojourn.install import debs
from sojourn.install.debs import Deb
from sojourn.install.part import Part

NAME = "shore"
PACKAGE = "postgresql"
SERVER = re.compile(r"postgresql-\d+")
LIBRARY = re.compile(r"lib(?!llvm|perl|json-perl).*")
PROGRAMS = ("postgres", "initdb")
LEFT_OUT = ("bitcode", "llvmjit*", "pgxs", "*.a")


def wanted() -> tuple[Deb, ...]:
    """The server's package and the libraries that this machine lacks.

    Raises:
        HostFault: apt offers none, or PostgreSQL is installed already.
    """
    names = debs.brought(PACKAGE)
    server = [name for name in names if SERVER.fullmatch(name)]
    if not server:
        raise HostFault(
            "PostgreSQL is not to be had as a package, or is installed already",
            at=f"apt-get install {PACKAGE}",
            fix="see whether /usr/lib/postgresql is there: then nothing need be fetched; else run "
            "apt-get update",
        )
    return tuple(Deb(package=name) for name in (*server, *filter(LIBRARY.fullmatch, names)))


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Keep the server's programs, its own files, and the libraries beside it."""
    results = sorted(unpacked.glob("usr/lib/postgresql/*/bin/postgres"))
    if not results:
        raise ValueError("no server in the packages")
    home = results[-1].parents[1].relative_to(unpacked)
    release = home.name
    (into / home / "bin").mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy(unpacked / home / "bin" / name, into / home / "bin" / name)
    leave = shutil.ignore_patterns(*LEFT_OUT)
    share = Path("usr/share/postgresql") / release
    for folder in (home / "lib", share):
        shutil.copytree(unpacked / folder, into / folder, symlinks=True, ignore=leave)
    libraries = Path("usr/lib/libraries")
    (into / libraries).mkdir(parents=True)
    for folder in sorted(unpacked.glob("*/lib/*-linux-*")) + sorted(unpacked.glob("lib/*-linux-*")):
        for library in folder.glob("*.so*"):
            shutil.copy(library, into / libraries / library.name, follow_symlinks=False)
    return {"release": release, "bin": str(home / "bin"), "libraries": str(libraries)}


PART = Part(
    name=NAME,
    about="PostgreSQL for the service shore, where the distribution's is not installed",
    version="1",
    debs=wanted,
    make=make,
)
