"""What a filter of calls refuses is no ability, whatever rights there are."""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import host
from sojourn.host import sandbox
from sojourn.host.abilities import NEEDS, abilities
from sojourn.host.tree import Tree

NAMES = {
    sandbox.AFFINITY: "latency against load",
    sandbox.SCHEDULER: "real-time scheduling",
    sandbox.URING: "io_uring transport",
}


def test_a_fake_machine_has_no_sandbox(tmp_path: Path) -> None:
    assert sandbox.refused(Tree(tmp_path)) == ()


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOSYS])
@pytest.mark.parametrize("name", [sandbox.AFFINITY, sandbox.SCHEDULER])
def test_a_call_that_a_filter_refuses_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    before = sandbox.refused(Tree())
    monkeypatch.setattr(os, name, refuse)
    assert {*sandbox.refused(Tree())} == {*before, name}


@pytest.mark.parametrize(
    ("number", "is_refused"),
    [(errno.EPERM, True), (errno.ENOSYS, True), (errno.EINVAL, False), (errno.EFAULT, False)],
)
def test_what_the_kernel_itself_answers_is_no_refusal(
    monkeypatch: pytest.MonkeyPatch, number: int, *, is_refused: bool
) -> None:
    def answer(name: str, *_: int) -> None:
        raise OSError(number, name)

    monkeypatch.setattr(sandbox, "_call", answer)
    asked = {sandbox.BPF, sandbox.PERF, sandbox.URING}
    assert asked & {*sandbox.refused(Tree())} == (asked if is_refused else set())


def test_a_refused_call_is_what_an_ability_lacks() -> None:
    facts = host.read(sample_s=0)
    free = replace(facts, rights=replace(facts.rights, refused=()))
    for call, name in NAMES.items():
        filtered = replace(facts, rights=replace(facts.rights, refused=(call,)))
        had = {one.name for one in abilities(free) if one.can}
        lost = {
            one.name: one.missing for one in abilities(filtered) if one.name in had and not one.can
        }
        assert lost == ({name: f"the call {call}: a sandbox refuses it"} if name in had else {})


def test_each_call_that_is_tried_is_what_some_ability_needs() -> None:
    facts = host.read(sample_s=0)
    every = replace(facts, rights=replace(facts.rights, refused=tuple(sandbox._TRIED)))
    needed = {missing for one in NEEDS for _, missing, _ in one.needs(every)}
    assert {f"the call {name}: a sandbox refuses it" for name in sandbox._TRIED} <= needed
