"""The Java service `specjbb`: the lab's own sources, compiled here, and a JDK where none is.

A machine that has `javac` and `java` uses them. Else the distribution's default JDK without a head
is downloaded and unpacked for the lab alone, as all that it fetches.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import debs
from sojourn.install.debs import Deb
from sojourn.install.part import Part

NAME = "specjbb"
SOURCES = Path(__file__).parent.parent / "services" / "tpcc" / "jbb"
JAR, JDK = "specjbb.jar", "jdk"
MAIN = "Jbb"
DEFAULT = "default-jdk-headless"
COMPILE_S_MAX = 300.0
RELEASE = "17"  # of the language; every later JDK still compiles for it
_RELEASE_OF = re.compile(r'(?:javac |version ")(\d+)')


def java() -> Path | None:
    """The machine's own `java`, where `javac` is there too; None: one is to be fetched."""
    tools = programs.maybe("java"), programs.maybe("javac")
    return tools[0] if all(tool is not None and _is_new(tool) for tool in tools) else None


def _is_new(tool: Path) -> bool:
    """Whether a tool of a JDK has the release of the sources; True where it does not say."""
    match = _RELEASE_OF.search(programs.says(tool, "-version"))
    return match is None or int(match[1]) >= int(RELEASE)


def lacking() -> tuple[Deb, ...]:
    """Packages of a JDK, where this machine has none that is new enough.

    Where the distribution's default is too old, the oldest that will do is taken.

    Raises:
        HostFault: apt does not say which its default is.
    """
    if java() is not None:
        return ()
    usual = re.compile(r"openjdk-(\d+)-jdk-headless")
    releases = [int(m[1]) for p in debs.depends(DEFAULT) if (m := usual.fullmatch(p))]
    if not releases:
        raise HostFault(
            f"apt does not say which JDK {DEFAULT} is",
            at=f"apt-cache depends {DEFAULT}",
            fix=f"run apt-get update, or install a JDK of version {RELEASE} or newer",
        )
    name = f"openjdk-{max(releases[0], int(RELEASE))}"
    return tuple(Deb(package=f"{name}-{kind}-headless") for kind in ("jre", "jdk"))


def sources() -> tuple[Path, ...]:
    """The service's files, in order of their names."""
    return tuple(sorted(SOURCES.glob("*.java")))


def version() -> str:
    """Of the sources: others are compiled anew."""
    whole = hashlib.sha256()
    for path in sources():
        whole.update(path.read_bytes())
    return whole.hexdigest()[:12]


def make(unpacked: Path, into: Path) -> Mapping[str, str]:
    """Keep the JDK if one was unpacked, and compile with it or with the machine's."""
    home = next(iter(sorted(unpacked.glob("usr/lib/jvm/java-*-openjdk-*"))), None)
    if home is not None:
        settled(home, unpacked)
        shutil.copytree(home, into / JDK, ignore=shutil.ignore_patterns("src.zip", "docs"))
    tools = into / JDK / "bin" if home is not None else None
    classes = into / "classes"
    compile_, pack = (_tool(tools, name) for name in ("javac", "jar"))
    _run(compile_, "-encoding", "UTF-8", "--release", RELEASE, "-d", classes, *sources())
    _run(pack, "--create", "--file", into / JAR, "--main-class", MAIN, "-C", classes, ".")
    shutil.rmtree(classes)
    return {"java": _run(compile_, "-version").split()[-1]}


def settled(home: Path, unpacked: Path) -> None:
    """Put files in the place of links that lead to where packages are installed; drop dead ones."""
    for link in [path for path in home.rglob("*") if path.is_symlink()]:
        target = link.readlink()
        meant = unpacked / target.relative_to("/") if target.is_absolute() else link.parent / target
        link.unlink()
        if meant.is_dir():
            shutil.copytree(meant, link)
        elif meant.is_file():
            shutil.copy2(meant, link)


def _tool(folder: Path | None, name: str) -> Path:
    return folder / name if folder is not None else programs.find(name, fix=PART.command)


def _run(*words: str | Path) -> str:
    """What a tool of the JDK says; ValueError if it fails."""
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=COMPILE_S_MAX,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"{words[0]} does not come to an end") from None
    text = (done.stdout + done.stderr).strip()
    if done.returncode != 0:
        raise ValueError(f"{words[0]} fails: {text[-300:]}")
    return text


PART = Part(
    name=NAME,
    about="the service specjbb, compiled; with a JDK if this machine has none",
    version=version(),
    debs=lacking,
    make=make,
)
