"""What is fetched, by an apt that is a fake; the real one is in tests/privileged."""

from __future__ import annotations

import hashlib
import lzma
import os
import pwd
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sojourn import install, programs
from sojourn.errors import HostFault, SpecFault
from sojourn.install import Part, apt_calls, debs, part, specjbb, vm
from sojourn.install.debs import Deb
from sojourn.install.part import cache_folder

SUM = hashlib.sha256(b"deb").hexdigest()
LINE = "'http://mirror/p/web_1.deb' web_1.deb 1234 SHA256:{}\n"


class Apt:
    """apt and dpkg-deb: what they were asked, and what they answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[list[str]] = []
        self.own, self.other = LINE.format(SUM), ""
        self.targets = "Debian|Debian-Security|http://sec/\nDebian|Debian|http://mirror/debian/\n"
        self.fails = ""
        self.came = b"deb"
        self.owners: list[int] = []
        self.depends = ""
        monkeypatch.setattr(apt_calls, "tried", self._run)
        monkeypatch.setattr(programs, "find", lambda name, **_: Path(name))

    def _run(
        self, argv: Sequence[str | Path], cwd: Path, within_s: float
    ) -> subprocess.CompletedProcess[str]:
        del within_s
        words = list(map(str, argv))
        self.calls.append(words)
        other = ""
        if self.fails and self.fails in words:
            return subprocess.CompletedProcess(words, 100, "", "E: it is so\n")
        if "--print-uris" in words:
            is_other = any(word.startswith("Dir::State::Lists") for word in words)
            other = self.other if is_other else self.own
            return subprocess.CompletedProcess(words, 0 if other else 100, other, "")
        if "indextargets" in words:
            other = self.targets
        elif "depends" in words:
            other = self.depends
        elif "download" in words:
            self.owners.append(cwd.stat().st_uid)
            (cwd / f"{words[-1]}.deb").write_bytes(self.came)
        elif "-x" in words:
            (cwd / "file").write_text("kept")
        return subprocess.CompletedProcess(words, 0, other, "")


@pytest.fixture
def apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Apt:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "c"))
    return Apt(monkeypatch)


def thing(make: Callable[[Path, Path], Mapping[str, str]] | None = None, **more: Any) -> Part:
    def keep(unpacked: Path, into: Path) -> Mapping[str, str]:
        (into / "sub").mkdir()
        (into / "sub" / "file").write_text((unpacked / "file").read_text())
        return {"release": "1"}

    deb = Deb(package="web", **more)
    return Part(name="web", about="a thing", version="1", debs=(deb,), make=make or keep)


def test_a_package_of_the_machines_own_sources_is_asked_for_there(apt: Apt) -> None:
    offer = debs.offer(Deb(package="web", suite="far", sha256=SUM))
    assert (offer.bytes, offer.sums) == (1234, {"SHA256": SUM})
    assert not any("update" in words for words in apt.calls)


def test_another_suite_is_asked_with_a_list_of_our_own(apt: Apt) -> None:
    apt.own, apt.other = "", LINE.format(SUM)
    offer = debs.offer(Deb(package="web", suite="far-backports"))
    assert offer.bytes == 1234
    (update,) = (words for words in apt.calls if "update" in words)
    reports = dict(word.split("=", 1) for word in update if "=" in word)
    line = Path(reports["Dir::Etc::SourceList"]).read_text()
    assert line.endswith("http://mirror/debian/ far-backports main\n")  # not the security mirror
    lists = Path(reports["Dir::State::Lists"])
    assert lists.is_dir()
    assert all(part.stat().st_mode & 0o001 for part in lists.parents), "downloaders may enter"
    assert "Dir::Etc::SourceParts=-" in update


def test_what_is_not_offered_or_not_as_pinned_is_refused(apt: Apt) -> None:
    with pytest.raises(HostFault, match="not the one that is pinned"):
        debs.offer(Deb(package="web", sha256="00" * 32))
    apt.own = ""
    with pytest.raises(HostFault) as caught:
        debs.offer(Deb(package="web"))
    assert "apt-get update" in caught.value.fix
    apt.targets = ""
    with pytest.raises(HostFault, match="no source of Debian's packages"):
        debs.offer(Deb(package="web", suite="far"))


def test_what_was_fetched_is_whole_and_a_changed_file_is_seen(apt: Apt) -> None:
    web = thing()
    assert web.made() is None
    with pytest.raises(HostFault) as caught:
        web.ready()
    assert (caught.value.what, caught.value.fix) == ("web: not installed", "sojourn install web")
    made = install.fetch(web, install.offers(web))
    assert made == web.made() == web.ready()
    assert list(made.files) == ["sub/file"]
    assert made.facts == {"release": "1"}
    assert [path.name for path in made.at.parent.iterdir()] == ["web-1"]
    assert sum("-x" in words for words in apt.calls) == 1
    (made.at / "sub" / "file").write_text("other")
    with pytest.raises(HostFault, match="is not what was fetched"):
        web.ready()


@pytest.mark.parametrize("pinned", ["", SUM])
@pytest.mark.parametrize("kind", ["SHA256", "SHA512"])
def test_what_came_is_hashed_before_it_is_unpacked(apt: Apt, pinned: str, kind: str) -> None:
    """The index may be of another moment than the file, or of a mirror that lies."""
    right = hashlib.new(kind, b"deb").hexdigest()
    apt.own = LINE.replace("SHA256", kind).format(right)
    web = thing(sha256=pinned)
    install.fetch(web, install.offers(web))
    unpacked = sum("-x" in words for words in apt.calls)
    apt.came = b"bed"
    with pytest.raises(HostFault, match=r"not the one that (was offered|is pinned)") as caught:
        install.fetch(web, install.offers(web))
    assert hashlib.new(kind, b"bed").hexdigest() in caught.value.at or pinned
    assert sum("-x" in words for words in apt.calls) == unpacked, "it was not unpacked"
    assert web.ready(), "what was there is there"


@pytest.mark.parametrize("report", ["MD5Sum:00", "", "SHA1:00"])
def test_what_no_sum_can_be_held_against_is_not_unpacked(apt: Apt, report: str) -> None:
    apt.own = LINE.replace("SHA256:{}", report)
    web = thing()
    with pytest.raises(HostFault, match="no sum of web"):
        install.fetch(web, install.offers(web))
    assert not any("-x" in words for words in apt.calls)
    pinned = thing(sha256=SUM)
    assert install.fetch(pinned, install.offers(pinned)), "the pinned one will do"


def test_apts_downloaders_stay_without_rights(apt: Apt) -> None:
    web = thing()
    install.fetch(web, install.offers(web))
    assert not any("Sandbox" in word for words in apt.calls for word in words)
    try:
        downloader = pwd.getpwnam("_apt").pw_uid
    except KeyError:
        pytest.skip("needs apt's own user")
    assert apt.owners == [downloader if os.geteuid() == 0 else os.geteuid()]


@pytest.mark.parametrize("step", ["download", "-x"])
def test_a_fetch_that_fails_leaves_what_was_there(apt: Apt, step: str) -> None:
    web = thing()
    before = install.fetch(web, install.offers(web))
    offered = install.offers(web)
    apt.fails = step
    with pytest.raises(HostFault) as caught:
        install.fetch(web, offered)
    assert "E: it is so" in caught.value.what
    assert web.ready() == before
    assert [path.name for path in before.at.parent.iterdir()] == ["web-1"]


def test_packages_without_what_they_should_have_are_refused(apt: Apt) -> None:
    del apt

    def lacks(unpacked: Path, into: Path) -> Mapping[str, str]:
        raise ValueError("no kernel")

    web = thing(lacks)
    with pytest.raises(HostFault, match="no kernel"):
        install.fetch(web, install.offers(web))
    assert web.made() is None


def module(folder: Path, name: str, *depends: str) -> Path:
    path = folder / f"{name}.ko.xz"
    text = b"\x7fELF\0license=GPL\0depends=" + ",".join(depends).encode() + b"\0name=x\0"
    path.write_bytes(lzma.compress(text))
    return path


def test_a_module_comes_after_all_that_it_depends_on(tmp_path: Path) -> None:
    known = {"virtio_net": ("net_failover",), "net_failover": ("failover",), "failover": ()}
    results = {name: module(tmp_path, name, *needs) for name, needs in known.items()}
    assert vm.in_order("virtio_net", results) == ("failover", "net_failover", "virtio_net")
    del results["failover"]
    with pytest.raises(ValueError, match="no module failover"):
        vm.in_order("virtio_net", results)


def test_a_guest_is_made_of_a_kernels_and_a_shells_package(tmp_path: Path) -> None:
    unpacked, into = tmp_path / "unpacked", tmp_path / "into"
    for name in (f"boot/vmlinuz-{vm.VERSION}", "usr/bin/busybox"):
        (unpacked / name).parent.mkdir(parents=True)
        (unpacked / name).write_text(name)
    into.mkdir()
    with pytest.raises(ValueError, match="no module virtio_net"):
        vm.make(unpacked, into)
    module(unpacked, "virtio_net")
    (into / vm.MODULES).rmdir()
    assert vm.make(unpacked, into) == {"kernel": vm.VERSION, "modules": "virtio_net"}
    assert (into / vm.MODULES / "00-virtio_net.ko").read_bytes().startswith(b"\x7fELF")
    assert (into / vm.BUSYBOX).stat().st_mode & 0o111


def test_a_jdk_is_fetched_only_where_there_is_none(
    apt: Apt, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {"java": Path("/bin/java"), "javac": Path("/bin/javac")}
    monkeypatch.setattr(programs, "maybe", there.get)
    monkeypatch.setattr(programs, "says", lambda *_: "javac 17.0.1")
    assert specjbb.lacking() == ()
    del there["javac"]  # a java alone compiles nothing
    with pytest.raises(HostFault, match="does not say which JDK"):
        specjbb.lacking()
    apt.depends = "  Depends: default-jre-headless\n  Depends: openjdk-21-jdk-headless\n"
    names = [deb.package for deb in specjbb.lacking()]
    assert names == ["openjdk-21-jre-headless", "openjdk-21-jdk-headless"]
    offered = install.offers(specjbb.PART)
    assert [one.deb.package for one in offered] == names


def test_an_unpacked_jdk_has_files_where_it_had_links_to_installed_ones(tmp_path: Path) -> None:
    home = tmp_path / "usr/lib/jvm/java-21-openjdk-x"
    (home / "lib").mkdir(parents=True)
    (tmp_path / "etc/java").mkdir(parents=True)
    (tmp_path / "etc/java/jvm.cfg").write_text("-server KNOWN")
    (home / "lib/jvm.cfg").symlink_to("/etc/java/jvm.cfg")
    (home / "lib/conf").symlink_to("/etc/java")
    (home / "lib/near").symlink_to("jvm.cfg")
    (home / "lib/certs").symlink_to("/etc/ssl/certs")
    specjbb.settled(home, tmp_path)
    assert not any(path.is_symlink() for path in home.rglob("*"))
    assert (home / "lib/jvm.cfg").read_text() == "-server KNOWN"
    assert (home / "lib/conf/jvm.cfg").read_text() == "-server KNOWN"
    assert not (home / "lib/certs").exists()


def test_other_sources_are_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = specjbb.version()
    assert len(specjbb.sources()) > 5
    for path in specjbb.sources():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(specjbb, "SOURCES", tmp_path)
    assert specjbb.version() == before
    (tmp_path / "Draw.java").write_text("class Draw {}")
    assert specjbb.version() != before


def test_an_unknown_part_is_answered_with_what_there_is() -> None:
    with pytest.raises(SpecFault):
        part("vmm")
    assert all(name == one.name and one.about for name, one in install.KINDS.items())


def test_what_others_may_have_put_into_the_cache_is_not_run(
    apt: Apt, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its programs are started, as root by root, and the sums of its files lie beside them."""
    web = thing()
    made = install.fetch(web, install.offers(web))
    assert web.ready() == made
    for folder in (tmp_path / "c", made.at):
        mode = folder.stat().st_mode
        for more in (0o020, 0o002):
            folder.chmod(mode | more)
            with pytest.raises(HostFault, match="others may write into it") as caught:
                web.ready()
            assert "chmod go-w" in caught.value.fix
            assert web.made() is None
        folder.chmod(mode)
    assert web.ready() == made
    (tmp_path / "c").chmod(0o1777)
    with pytest.raises(HostFault, match="cannot write: others"):
        install.offers(web)
    (tmp_path / "c").chmod(0o755)
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    is_roots = own == 0  # what the superuser made for all may be used by all
    assert (web.made() == made) == is_roots
    monkeypatch.setattr(os, "geteuid", lambda: own)
    if is_roots:
        os.chown(made.at, 65_534, -1)
        with pytest.raises(HostFault, match="belongs to user 65534"):
            web.ready()


def test_the_cache_is_closed_to_others_whatever_the_mask_is(apt: Apt, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = install.fetch(web := thing(), install.offers(web))
    finally:
        os.umask(before)
    assert {oct(f.stat().st_mode & 0o777) for f in (tmp_path / "c", made.at)} == {"0o755"}


def test_a_home_of_somebody_else_holds_no_cache_of_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`sudo` may leave HOME as it was."""
    for name in ("SOJOURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache/sojourn"
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert cache_folder().parts[: len(tmp_path.parts)] != tmp_path.parts
