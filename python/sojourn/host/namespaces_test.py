from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import namespaces
from sojourn.host.abilities import abilities
from sojourn.host.tree import Tree

RIGHTS = ("sys_admin", "net_admin")


def tree(root: Path, **files: str) -> Tree:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Tree(root)


def test_a_kernel_without_namespaces_is_named(tmp_path: Path) -> None:
    assert "CONFIG_NET_NS" in namespaces.lacking(tree(tmp_path), RIGHTS)


def test_a_limit_of_none_is_named(tmp_path: Path) -> None:
    files = {"proc__self__ns__net": "", "proc__sys__user__max_net_namespaces": "0\n"}
    assert "max_net_namespaces is 0" in namespaces.lacking(tree(tmp_path, **files), RIGHTS)


def test_a_fake_tree_is_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_tried", lambda tree: "it was tried")
    assert namespaces.lacking(tree(tmp_path, proc__self__ns__net=""), RIGHTS) == ""


def test_without_rights_nothing_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_tried", lambda tree: "it was tried")
    assert namespaces.lacking(Tree(), ("net_admin",)) == ""


def test_what_the_trial_says_is_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(namespaces, "_tried", lambda tree: "a kernel with veth")
    assert namespaces.lacking(Tree(), RIGHTS) == "a kernel with veth"


def test_doctor_says_what_a_fake_machine_lacks_and_its_fix(tmp_path: Path) -> None:
    status = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\n"
    facts = host.read(tree(tmp_path, proc__self__status=status).root, sample_s=0)
    (ability,) = (a for a in abilities(facts) if a.name == "network namespaces")
    assert not ability.can
    assert ability.missing == "CAP_SYS_ADMIN"
    assert "root" in ability.fix
