"""Whose rights count: root of a user namespace seems to have all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import rights
from sojourn.host.abilities import abilities
from sojourn.host.tree import Tree
from sojourn.host.writable import AS_ROOT, ON_HOST

SYS_NICE = 23
ALL = "         0          0 4294967295\n"
MANY = "         0     100000      65536\n"  # a rootless container's
ONE = "         0       1000          1\n"  # `unshare -Ur`


@pytest.fixture(name="machine")
def _machine(fake_host: Callable[[str], Path]) -> Callable[[str, str], Tree]:
    """A machine on which this process has every capability, in a namespace of users."""

    def make(users: str, link: str = "") -> Tree:
        root = fake_host("big_server")
        own = root / "proc/self"
        status = "".join(
            line
            for line in (own / "status").read_text().splitlines(keepends=True)
            if not line.startswith(("CapEff", "Uid"))
        )
        (own / "status").write_text(f"{status}CapEff:\t000001ffffffffff\nUid:\t0\t0\t0\t0\n")
        (own / "uid_map").write_text(users)
        (own / "gid_map").write_text(users)
        if link:
            (own / "ns").mkdir(exist_ok=True)
            (own / "ns/user").symlink_to(link)
        return Tree(root)

    return make


@pytest.mark.parametrize(
    ("users", "link", "is_inner"),
    [
        (ALL, "", False),
        (ALL, "user:[4026531837]", False),
        (ALL, "user:[4026532178]", True),
        (MANY, "", True),
        (ONE, "", True),
    ],
)
def test_a_user_namespace_is_seen_by_its_number_or_its_users(
    machine: Callable[[str, str], Tree], users: str, link: str, *, is_inner: bool
) -> None:
    assert rights.is_inner(machine(users, link)) is is_inner


@pytest.mark.parametrize("users", [MANY, ONE])
def test_root_of_a_user_namespace_has_no_right_over_the_machine(
    machine: Callable[[str, str], Tree], users: str
) -> None:
    tree = machine(users, "")
    got = rights.read(tree)
    assert got.is_inner
    assert not {"sys_nice", "sys_resource", "perfmon", "bpf", "net_admin"} & set(got.capabilities)
    assert got.may("sys_admin")  # namespaces inside it
    assert not got.may_load()
    assert got.lacking_to_trace == rights.lacking_to_trace(tree) == "CAP_BPF and CAP_PERFMON"
    assert got.may("setuid") is (users == MANY)
    assert not rights.has(tree, SYS_NICE)
    assert rights.fix(tree) == ON_HOST


def test_what_it_lacks_is_no_ability_and_running_as_root_no_fix(
    machine: Callable[[str, str], Tree],
) -> None:
    names = ("stages inside the kernel (eBPF)", "real-time scheduling", "network shares (HTB)")
    outer = {a.name: a for a in abilities(host.read(machine(ALL, "").root))}
    assert all(outer[name].can for name in names)
    inner = {a.name: a for a in abilities(host.read(machine(ONE, "").root))}
    assert [(inner[name].can, inner[name].fix) for name in names] == [(False, ON_HOST)] * 3


@pytest.mark.parametrize(("uid", "fix"), [(0, ON_HOST), (1000, AS_ROOT)])
def test_root_that_lacks_a_right_is_not_told_to_become_root(
    machine: Callable[[str, str], Tree], uid: int, fix: str
) -> None:
    """As in a container: root has the capabilities that the runtime leaves it."""
    tree = machine(ALL, "")
    status = tree.root / "proc/self/status"
    text = status.read_text().replace("000001ffffffffff", "00000000a80425fb")
    status.write_text(text.replace("Uid:\t0\t0", f"Uid:\t{uid}\t{uid}"))
    assert rights.fix(tree) == fix
    lacking = [one for one in abilities(host.read(tree.root)) if one.missing.startswith("CAP_")]
    assert lacking
    assert {asdict(one)["fix"] for one in lacking} == {fix}
