"""Containers of the user's own: what is retained of their configuration, and what is refused."""

from __future__ import annotations

import json
import os
import stat
import tarfile
from pathlib import Path

import pytest

from sojourn import programs, services
from sojourn.damage_testing import nested
from sojourn.errors import AbsentFault, RunFault, SpecFault
from sojourn.places import Address, confined, image, ports
from sojourn.services import Allowance
from sojourn.services.capabilities import RunsAs
from sojourn.services.own import unpack
from sojourn.services.own.container import Container

ROOM = Allowance(cpus=4, memory_bytes=8 << 30)
AT = Address(ports.HOST, 5000)
CONFIG = {
    "process": {
        "args": ["/app", "--port", "{port}"],
        "env": ["A=1", "B=2"],
        "terminal": True,
        "capabilities": {"bounding": ["CAP_KILL"]},
    },
    "root": {"path": "rootfs", "readonly": True},
    "hostname": "kept",
    "linux": {
        "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "network")],
        "cgroupsPath": "theirs",
    },
}
# Says what it may do, and does what it is asked for.
TAR = """#!/bin/sh
grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status > "$HERE/rights"
exec {tar} "$@"
"""
# Says what podman says, and writes the archive that it is asked for.
PODMAN = """#!/bin/sh
case $1 in
    create)
        [ "$3 $5" = "--name --" ] || exit 1
        [ "$6" != missing-image ] || { echo "no such image" >&2; exit 125; }
        echo "$4" > "$HERE/made"; echo pulling; echo id7 ;;
    inspect) echo '[{"Image": "sha256:1", "Config": {
        "Entrypoint": "/app -c java -jar app", "Cmd": ["-v"], "User": "33"}}]' ;;
    image)
        [ "$2 $4" = "inspect sha256:1" ] || exit 1
        echo '[{"Config": {"Entrypoint": ["/app", "-c", "java -jar app"], "Cmd": ["-v"]}}]' ;;
    export) cp "$HERE/fs.tar" "$3" ;;
    rm) echo "$5" >> "$HERE/removed" ;;
esac
"""


@pytest.fixture(name="bundle")
def _bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    (tmp_path / "rootfs").mkdir()
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def built(**params: services.Value) -> Container:
    made = services.build("container", params, ROOM)
    assert isinstance(made, Container)
    return made


def test_a_bundle_is_run_as_its_configuration_says_but_in_the_places_network(bundle: Path) -> None:
    made = built(bundle=str(bundle), environment="B={port} C=3")
    image, start = made.image(), made.start(Path("/w"), AT)
    assert image is not None
    assert start.words == ("/app", "--port", "5000")
    report = image.runtime_config(name="sojourn-x", words=start.words, environment=start.variables)
    assert report["process"]["args"] == ["/app", "--port", "5000"]
    assert report["process"]["env"] == ["A=1", "B=5000", "C=3"]
    assert report["process"]["terminal"] is False
    assert report["process"]["capabilities"] == {"bounding": ["CAP_KILL"]}
    assert [one["type"] for one in report["linux"]["namespaces"]] == ["pid", "ipc", "mount"]
    assert report["linux"]["cgroupsPath"] == "sojourn-x"
    assert report["root"] == {"path": str(bundle / "rootfs"), "readonly": True}
    assert report["hostname"] == "kept"
    other = built(bundle=str(bundle), argv="/other {port}").start(Path("/w"), AT)
    assert (other.program, other.words) == (made.runc, ("/other", "5000"))
    assert made.needs().runs_as is RunsAs.LAB


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "a bundle or an image"),
        ({"bundle": "/x", "image": "y"}, "a bundle or an image"),
        ({"bundle": "/no/such"}, "no OCI bundle"),
        ({"image": "x"}, "does not get its port"),
        ({"image": "--privileged", "port": 80}, "an option, and no image"),
    ],
)
def test_what_is_no_container_is_refused(
    bundle: Path, params: dict[str, services.Value], text: str
) -> None:
    del bundle
    with pytest.raises(SpecFault, match=text) as caught:
        built(**params)
    assert caught.value.fix


def test_a_bundle_without_root_or_program_is_reported(bundle: Path) -> None:
    (bundle / "rootfs").rmdir()
    with pytest.raises(AbsentFault, match="No root folder"):
        built(bundle=str(bundle))
    (bundle / "config.json").write_text("{}")
    with pytest.raises(AbsentFault, match="starts no program"):
        built(bundle=str(bundle))


def test_an_image_wants_podman(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "maybe", lambda name: None if name == "podman" else Path(name))
    with pytest.raises(AbsentFault, match="podman, which is missing") as caught:
        built(image="x", port=80)
    assert "apt install podman" in caught.value.fix


def test_an_image_is_unpacked_as_a_bundle_and_nothing_is_left_in_podman(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "podman"
    fake.write_text(PODMAN)
    fake.chmod(0o755)
    (tmp_path / "app").touch()
    with tarfile.open(tmp_path / "fs.tar", "w") as tar:
        tar.add(tmp_path / "app", "app")
        for name, mode in {"su": 0o4755, "sg": 0o2755, "plain": 0o755}.items():
            member = tarfile.TarInfo(name)
            member.mode = mode
            tar.addfile(member)
    monkeypatch.setenv("HERE", str(tmp_path))
    find = programs.find
    fakes = {"podman": fake, "tar": tmp_path / "tar"}
    fakes["tar"].write_text(TAR.format(tar=find("tar")))
    fakes["tar"].chmod(0o755)
    monkeypatch.setattr(
        programs, "find", lambda name, **more: fakes.get(name) or find(name, **more)
    )
    made = unpack.unpacked("an-image", tmp_path / "bundle")
    if not os.geteuid():  # CAP_CHOWN, DAC_OVERRIDE, FOWNER, FSETID, MKNOD
        rights = [1 << number for number in (0, 1, 3, 4, 27)]
        may = dict(line.split(":\t") for line in (tmp_path / "rights").read_text().splitlines())
        assert int(may["CapEff"], 16) == int(may["CapBnd"], 16) == sum(rights)
        assert may["NoNewPrivs"] == "1"
    assert made == image.read(tmp_path / "bundle")
    assert made.words == ("/app", "-c", "java -jar app", "-v")
    assert made.config["process"]["user"] == {"uid": 33, "gid": 33}
    assert (tmp_path / "bundle/rootfs/app").is_file()
    for name in ("su", "sg", "plain"):
        assert (tmp_path / "bundle/rootfs" / name).stat().st_mode & 0o7777 == 0o755, name
    assert not (tmp_path / "bundle/rootfs.tar").exists()
    assert (tmp_path / "removed").read_text() == (tmp_path / "made").read_text()
    with pytest.raises(RunFault, match="no such image"):
        unpack.unpacked("missing-image", tmp_path / "other")


def test_an_unpacked_image_has_what_docker_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "rootfs").mkdir()
    made = unpack.configured({"Entrypoint": ["/app"], "Env": ["A=1"]})
    assert confined.beyond(made, tmp_path) == ()
    assert made["process"]["noNewPrivileges"]
    assert made["process"]["capabilities"]["bounding"] == list(confined.RIGHTS)
    assert made["linux"]["seccomp"]["defaultAction"] == "SCMP_ACT_ERRNO"


@pytest.mark.parametrize(
    ("user", "wanted"),
    [
        ("", (0, 0)),
        ("70:71", (70, 71)),
        ("70", (70, 70)),
        ("nginx", (0, 0)),
        ("99999999999", (0, 0)),
        ("1:99999999999", (1, 1)),
        ("-1:-1", (0, 0)),
        ("٣", (0, 0)),
        ("9" * 5000, (0, 0)),
    ],
)
def test_who_starts_an_images_program_is_a_number_that_the_kernel_has(
    user: str, wanted: tuple[int, int]
) -> None:
    process = unpack.configured({"User": user, "Cmd": "/app 'x"})["process"]
    assert (process["user"]["uid"], process["user"]["gid"]) == wanted
    assert process["args"] == ["/app", "'x"]


def test_an_images_setuid_bits_and_devices_do_not_stay(tmp_path: Path) -> None:
    (tmp_path / "bin" / "in").mkdir(parents=True)
    for mode, name in ((0o6755, "bin/su"), (0o2755, "bin/in/write"), (0o644, "plain")):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "link").symlink_to("/bin/su")
    unpack._strip(tmp_path)
    modes = {p.name: stat.S_IMODE(p.lstat().st_mode) for p in tmp_path.rglob("*") if p.is_file()}
    assert modes == {"su": 0o755, "write": 0o755, "plain": 0o644} | (
        {"link": 0o777} if Path("/bin/su").exists() else {}
    )


def test_an_image_whose_folders_are_too_deep_to_be_looked_at_is_refused(tmp_path: Path) -> None:
    with nested(tmp_path, 2100), pytest.raises(RunFault, match="too deep"):
        unpack._strip(tmp_path)


def test_a_bundle_that_asks_for_more_is_refused_until_it_is_trusted(bundle: Path) -> None:
    config = {**CONFIG, "hooks": {"createRuntime": [{"path": "/bin/sh"}]}}
    (bundle / "config.json").write_text(json.dumps(config))
    with pytest.raises(SpecFault, match="more than a container may have: hooks") as caught:
        built(bundle=str(bundle))
    assert "trust_bundle = true" in caught.value.fix
    made = built(bundle=str(bundle), trust_bundle=True)
    image = made.image()
    assert image is not None
    assert "hooks" in image.runtime_config(name="x", words=["/app"], environment={})
    assert ("trusted", "the bundle is run as it is written") in made.setup()
