"""Packages of the distribution: asked for, downloaded and unpacked by apt; none is installed.

apt knows this machine's sources and verifies what it downloads by their signatures. Its downloaders
are a user without rights (`_apt`), as always, because they read what strangers send; so they have a
folder of theirs, out of which a package is copied and hashed before it is unpacked. A package of a
suite that this machine does not follow is asked for with a list of sources of our own, made from
the machine's mirror, which no one else sees.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn import programs
from sojourn.errors import HostFault
from sojourn.install import apt_calls

DOWNLOAD_S_MAX = 900.0
UNPACK_S_MAX = 300.0
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUMS = ("SHA256", "SHA512")  # that are held against what came
OFFER = re.compile(r"^'[^']+' (?P<file>\S+) (?P<bytes>\d+) (?P<sum>\S*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deb:
    """A package that is wanted.

    Attributes:
        package: its name.
        suite: of the distribution, where this machine's own sources do not have it.
        sha256: of the file, where one version is pinned; "": what apt verifies will do.
        has_more: what it depends on, and this machine lacks, comes with it.
    """

    package: str
    suite: str = ""
    sha256: str = ""
    has_more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What apt would download.

    Attributes:
        options: apt's, with which it is found.
        kind: of the sum that the signed index has: "SHA256", "SHA512"; "" if it has none.
        sum: of the file, as it has it.
    """

    deb: Deb
    bytes: int
    kind: str
    sum: str
    options: tuple[str, ...]

    @property
    def sums(self) -> dict[str, str]:
        """What the file must have, by the kind of sum: the pinned one, and the index's."""
        pinned = {"SHA256": self.deb.sha256} if self.deb.sha256 else {}
        return {**({self.kind: self.sum} if self.kind in SUMS else {}), **pinned}


def offer(deb: Deb) -> Offer:
    """Ask apt for a package; nothing is downloaded but, for another suite, its index.

    Args:
        deb: what is wanted.

    Raises:
        HostFault: it is not offered, or not as it was pinned.
    """
    result = _asked(deb, ()) or (_asked(deb, _other_suite(deb)) if deb.suite else None)
    if result is None:
        raise HostFault(
            f"no source of this machine offers the package {deb.package}",
            at=deb.suite or "apt",
            fix="run apt-get update, and see whether the mirror can be reached",
        )
    if deb.sha256 and result.kind == "SHA256" and result.sum != deb.sha256:
        raise _not_pinned(deb, result.sum)
    return result


def _not_pinned(deb: Deb, sha256: str) -> HostFault:
    return HostFault(
        f"the package {deb.package} is not the one that is pinned",
        at=f"SHA-256 {sha256}, not {deb.sha256}",
        fix="take another mirror; if all have it, this release of sojourn is too old for it",
    )


def others(debs: Sequence[Deb]) -> tuple[Deb, ...]:
    """What packages depend on and this machine lacks; it stays out of the machine, like them.

    Args:
        debs: that are wanted; those with `has_more` are asked about.

    Raises:
        HostFault: apt cannot tell, or would not install them here.
    """
    names = [deb.package for deb in debs if deb.has_more]
    known = {deb.package for deb in debs}
    result = brought(*names) if names else ()
    return tuple(
        Deb(package=name) for name in result if name not in known and not name.startswith(_NEVER)
    )


def brought(*packages: str) -> tuple[str, ...]:
    """Names of packages that installing some would bring to this machine; none is downloaded.

    Raises:
        HostFault: apt cannot install them here; its last words say why.
    """
    apt = programs.find("apt-get", fix="fetching needs a Debian system with apt")
    words = ("install", "--print-uris", "-qq", "-y", *_WITHOUT_MORE, *packages)
    done = apt_calls.tried([apt, *words], Path("/"), apt_calls.ASK_S_MAX)
    if done.returncode != 0:
        text = " | ".join(done.stderr.strip().splitlines()[-3:])
        raise HostFault(
            f"apt cannot install {', '.join(packages)} here: {text or f'exit {done.returncode}'}",
            at=shlex.join(["apt-get", *words]),
            fix="run apt-get update; where packages are broken, apt-get --fix-broken install",
        )
    return tuple(result["file"].partition("_")[0] for result in OFFER.finditer(done.stdout))


def unpack(offer: Offer, into: Path) -> None:
    """Download a package and unpack it into a folder, which may have others in it already.

    Raises:
        HostFault: it cannot be downloaded or unpacked, apt's last words say why; or it is not what
            was offered.
    """
    into.mkdir(parents=True, exist_ok=True)
    into, package = into.resolve(), offer.deb.package
    with tempfile.TemporaryDirectory(prefix="deb-", dir=apt_calls.downloaders_folder()) as name:
        at = Path(name)
        apt_calls.give(at)
        apt_calls.run(
            ["apt-get", *offer.options, "download", "-q", package], at, DOWNLOAD_S_MAX, package
        )
        for file in at.glob("*.deb"):
            own = into / f".{package}.deb"
            _checked(file, own, offer)
            apt_calls.run(["dpkg-deb", "-x", own, "."], into, UNPACK_S_MAX, package)
            own.unlink()


def _checked(file: Path, own: Path, offer: Offer) -> None:
    """Copy what came out of its downloader's folder; HostFault where it is not what was offered.

    The copy is the lab's own, so what was hashed is what is unpacked.
    """
    sums = {kind: hashlib.new(kind) for kind in offer.sums}
    if not sums:
        raise HostFault(
            f"the index has no sum of {offer.deb.package} that can be held against the file",
            at=offer.kind or "apt-get download --print-uris",
            fix="use a mirror with SHA-256 sums in its index",
        )
    with (
        os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as come,
        own.open("xb") as copy,
    ):
        if not stat.S_ISREG(os.fstat(come.fileno()).st_mode):
            raise HostFault(f"{file.name} is not a file", at=str(file), fix="try again")
        while part := come.read(1 << 20):
            copy.write(part)
            for one in sums.values():
                one.update(part)
    for kind, one in sums.items():
        if one.hexdigest() != offer.sums[kind]:
            own.unlink()
            if offer.sums[kind] == offer.deb.sha256:
                raise _not_pinned(offer.deb, one.hexdigest())
            raise HostFault(
                f"the package {offer.deb.package} that came is not the one that was offered",
                at=f"{kind} {one.hexdigest()}, not {offer.sums[kind]}",
                fix="run apt-get update and try again; else take another mirror",
            )


_WITHOUT_MORE = ("--no-install-recommends", "--no-remove")
#: A program has the C library of the machine, whose linker loads it: another one would not fit.
_NEVER = ("libc6", "libc-", "libgcc-s", "libstdc++", "gcc-")


def _asked(deb: Deb, options: Sequence[str]) -> Offer | None:
    argv: list[str | Path] = [
        programs.find("apt-get", fix="fetching needs a Debian system with apt")
    ]
    done = apt_calls.tried(
        [*argv, *options, "download", "--print-uris", "-qq", deb.package],
        Path("/"),
        apt_calls.ASK_S_MAX,
    )
    match = OFFER.search(done.stdout) if done.returncode == 0 else None
    if match is None:
        return None
    kind, _, value = match["sum"].partition(":")
    return Offer(deb=deb, bytes=int(match["bytes"]), kind=kind, sum=value, options=tuple(options))


def _other_suite(deb: Deb) -> tuple[str, ...]:
    """Options of apt for a suite, with its index read."""
    at = Path(tempfile.mkdtemp(prefix="index-", dir=apt_calls.downloaders_folder()))
    at.chmod(0o711)
    for name in ("lists/partial", "cache/archives/partial"):
        (at / name).mkdir(parents=True, exist_ok=True)
        apt_calls.give(at / name)
    signed = f"[signed-by={KEYRING}] " if Path(KEYRING).exists() else ""
    (at / "sources.list").write_text(
        f"deb {signed}{apt_calls.mirror()} {deb.suite} main\n", encoding="ascii"
    )
    options = {
        "Dir::Etc::SourceList": at / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": at / "lists",
        "Dir::Cache": at / "cache",
    }
    words = tuple(word for name, path in options.items() for word in ("-o", f"{name}={path}"))
    apt_calls.run(["apt-get", *words, "update", "-q"], at, apt_calls.ASK_S_MAX, deb.suite)
    return words


def depends(package: str) -> tuple[str, ...]:
    """The packages that one depends on, as apt knows it; () if it does not."""
    stdout = apt_calls.tried(
        ["apt-cache", "depends", package], Path("/"), apt_calls.ASK_S_MAX
    ).stdout
    return tuple(re.findall(r"^ *Depends: (\S+)$", stdout, re.MULTILINE))
