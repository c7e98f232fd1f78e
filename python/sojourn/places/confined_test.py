"""What a bundle may not ask for, one thing at a time, and what is taken from every container."""

from __future__ import annotations

import copy
import json
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sojourn.errors import SpecFault
from sojourn.places import confined, image

Change = Callable[[dict[str, Any]], object]


def plain() -> dict[str, Any]:
    """A configuration as `runc spec` writes it, in short."""
    return {
        "ociVersion": "1.0.2",
        "process": {
            "args": ["/app"],
            "cwd": "/",
            "terminal": True,
            "capabilities": {"bounding": ["CAP_AUDIT_WRITE", "CAP_KILL", "CAP_NET_BIND_SERVICE"]},
            "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}],
        },
        "root": {"path": "rootfs", "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
            {"destination": "/sys/fs/cgroup", "type": "cgroup", "options": ["ro"]},
        ],
        "linux": {
            "namespaces": [{"type": one} for one in ("pid", "network", "ipc", "uts", "mount")],
            "resources": {"devices": [{"allow": False, "access": "rwm"}]},
        },
    }


@pytest.fixture(name="bundle")
def _bundle(tmp_path: Path) -> Path:
    (tmp_path / "rootfs").mkdir()
    return tmp_path


def asked(bundle: Path, change: Change) -> tuple[str, ...]:
    config = copy.deepcopy(plain())
    change(config)
    return confined.beyond(config, bundle)


def mount(**inputs: object) -> Change:
    return lambda config: config["mounts"].append(inputs)


def space(**inputs: object) -> Change:
    return lambda config: config["linux"]["namespaces"].append(inputs)


def linux(**inputs: object) -> Change:
    return lambda config: config["linux"].update(inputs)


def process(**inputs: object) -> Change:
    return lambda config: config["process"].update(inputs)


def root(**inputs: object) -> Change:
    return lambda config: config["root"].update(inputs)


def lacks(kind: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        every = config["linux"]["namespaces"]
        config["linux"]["namespaces"] = [one for one in every if one["type"] != kind]

    return change


SYS = "/sys"
BEYOND: dict[str, tuple[Change, str]] = {
    "hooks": (lambda config: config.update(hooks={"prestart": [{"path": "/bin/sh"}]}), "hooks"),
    "vm": (lambda config: config.update(vm={"kernel": {"path": "/k"}}), "vm"),
    "root is the machine's": (root(path="/"), "root.path /"),
    "root is above": (root(path="../.."), "root.path"),
    "bind": (mount(destination="/x", type="bind", source="/etc"), "/etc of this machine"),
    "bind by option": (
        mount(destination="/x", type="tmpfs", source="/etc", options=["rbind"]),
        "/etc of this",
    ),
    "bind without a type": (mount(destination="/x", source="/", options=["bind"]), "/ of this"),
    "bind by dots": (mount(destination="/x", type="none", source="../../etc"), "../../etc of"),
    "disk": (mount(destination="/x", type="ext4", source="/dev/sda"), "a mount of ext4"),
    "overlay": (mount(destination="/x", type="overlay", options=["lowerdir=/"]), "overlay"),
    "proc elsewhere": (mount(destination="/x", type="proc"), "proc at /x"),
    "sysfs writable": (mount(destination=SYS, type="sysfs"), "sysfs at /sys to write to"),
    "cgroup writable": (mount(destination="/sys/fs/cgroup", type="cgroup2"), "cgroup2 at"),
    "shared mount": (
        mount(destination="/x", type="tmpfs", options=["rshared"]),
        "a shared mount",
    ),
    "capability": (
        process(capabilities={"effective": ["CAP_SYS_ADMIN"]}),
        "capability CAP_SYS_ADMIN",
    ),
    "raw sockets": (process(capabilities={"ambient": ["CAP_NET_RAW"]}), "CAP_NET_RAW"),
    "first to run": (
        process(rlimits=[{"type": "RLIMIT_RTPRIO", "hard": 99, "soft": 99}]),
        "RLIMIT_RTPRIO",
    ),
    "last to be killed": (process(oomScoreAdj=-1000), "oomScoreAdj"),
    "scheduler": (process(scheduler={"policy": "SCHED_FIFO"}), "process.scheduler"),
    "sysctl": (linux(sysctl={"net.ipv4.ip_forward": "1"}), "linux.sysctl"),
    "cache": (linux(intelRdt={"closID": "x"}), "linux.intelRdt"),
    "device node": (linux(devices=[{"path": "/dev/sda", "type": "b"}]), "linux.devices"),
    "device rule": (
        linux(resources={"devices": [{"allow": True, "type": "b", "major": 8, "minor": 0}]}),
        "devices b 8 0",
    ),
    "every device": (linux(resources={"devices": [{"allow": True}]}), "devices None"),
    "propagation": (linux(rootfsPropagation="shared"), "rootfsPropagation"),
    "no pid namespace": (lacks("pid"), "the machine's pid namespace"),
    "no mount namespace": (lacks("mount"), "the machine's mount namespace"),
    "no ipc namespace": (lacks("ipc"), "the machine's ipc namespace"),
    "somebody's namespace": (space(type="uts", path="/proc/1/ns/uts"), "uts namespace /proc/1"),
}


@pytest.mark.parametrize("name", BEYOND)
def test_what_reaches_out_of_a_container_is_refused_by_name(name: str, bundle: Path) -> None:
    change, text = BEYOND[name]
    assert any(text in one for one in asked(bundle, change)), asked(bundle, change)


def test_a_usual_bundle_asks_for_nothing(bundle: Path) -> None:
    assert asked(bundle, lambda _: None) == ()
    (bundle / "data").mkdir()
    own = mount(destination="/data", type="bind", source="data")
    assert asked(bundle, own) == ()
    assert asked(bundle, lambda config: config.update(annotations={"a": "b"})) == ()


@pytest.mark.parametrize(
    "wrong", [{"process": "x"}, {"mounts": [1]}, {"linux": [1]}, {"root": "/"}]
)
def test_what_is_no_configuration_is_refused(wrong: Mapping[str, Any], bundle: Path) -> None:
    with pytest.raises(SpecFault, match="not a configuration of a container"):
        image.Image(bundle=bundle, config={**plain(), **wrong}).check()


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        "[]",
        "{",
        '{"process": {"args": []}}',
        '{"process": null}',
        '{"process": {"args": 3}}',
        '{"process": {"args": ["/app"]}, "root": [1]}',
        "\xff",
    ],
)
def test_a_configuration_that_is_none_is_a_fault_of_its_file(bundle: Path, text: str) -> None:
    (bundle / image.CONFIG).write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=r"."):
        image.read(bundle)


def test_a_pipe_or_a_link_in_place_of_a_configuration_is_not_read(bundle: Path) -> None:
    os.mkfifo(bundle / image.CONFIG)
    with pytest.raises(OSError, match="not a plain file"):
        image.read(bundle)
    (bundle / image.CONFIG).unlink()
    (bundle / image.CONFIG).symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="link"):
        image.read(bundle)


def test_a_root_to_write_to_must_be_closed_to_others(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a container's superuser leaves there belongs to the machine's: a setuid file."""
    writable = root(readonly=False)
    (bundle / "rootfs").chmod(0o755)
    bundle.chmod(0o700)
    assert asked(bundle, writable) == ()
    monkeypatch.setattr(confined, "_CLOSED", stat.S_IFDIR)  # as if no folder were closed
    assert any("others can enter" in one for one in asked(bundle, writable))
    assert asked(bundle, root(readonly=True)) == ()


def test_a_link_for_a_root_does_not_lead_out(bundle: Path) -> None:
    (bundle / "rootfs").rmdir()
    (bundle / "rootfs").symlink_to("/")
    assert asked(bundle, lambda _: None) == ("root.path /",)


def test_a_container_has_what_docker_leaves_it(bundle: Path) -> None:
    made = image.Image(bundle=bundle, config=plain())
    report = made.runtime_config(name="x", words=["/app"], environment={})
    process, linux = report["process"], report["linux"]
    assert process["noNewPrivileges"]
    assert {"/proc/sys", "/proc/sysrq-trigger"} <= {*linux["readonlyPaths"]}
    assert {"/proc/kcore", "/sys/firmware"} <= {*linux["maskedPaths"]}
    assert linux["resources"]["devices"][0] == {"allow": False, "access": "rwm"}
    assert not any(rule.get("type") == "b" for rule in linux["resources"]["devices"])
    assert linux["seccomp"]["defaultAction"] == "SCMP_ACT_ERRNO"
    free = next(rule["names"] for rule in linux["seccomp"]["syscalls"] if "args" not in rule)
    assert {"read", "epoll_wait", "accept4", "futex"} <= {*free}
    withheld = {"mount", "unshare", "bpf", "keyctl", "io_uring_setup", "kexec_load", "init_module"}
    assert not withheld & {*free}


def test_what_is_trusted_is_run_as_it_is_written(bundle: Path) -> None:
    config = {**plain(), "hooks": {"prestart": [{"path": "/bin/true"}]}}
    (bundle / "config.json").write_text(json.dumps(config))
    with pytest.raises(SpecFault, match="hooks") as caught:
        image.read(bundle).runtime_config(name="x", words=["/app"], environment={})
    assert "trust_bundle = true" in caught.value.fix
    report = image.read(bundle, is_trusted=True).runtime_config(
        name="x", words=["/app"], environment={}
    )
    assert report["hooks"] == config["hooks"]
    assert "seccomp" not in report["linux"]
