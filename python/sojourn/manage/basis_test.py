"""Leading signals reach log, program and recording, and change no rule."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from sojourn.controllers import KINDS, replay
from sojourn.controllers.look import Look, Signal
from sojourn.controllers.named import rule
from sojourn.controllers.testing import look
from sojourn.manage import basis, facts, testing
from sojourn.manage import config as configs
from sojourn.manage.audit import Audit
from sojourn.manage.daemon import Manager, explained
from sojourn.manage.metrics_test import LEADING

P99_MS = [0.5, 0.5, 2.0, 3.0, 0.8, 0.4] * 10
HAS = {"cpu": 1.5, "runq_delay_ms": 0.4, "load": 0.5, "throttled": 1.0, "periods": 10.0}
PROGRAM = """
import json, sys
for line in sys.stdin:
    web = json.loads(line)["groups"]["web"]
    waits = web["signals"].get("accept_queue", {"value": 0})["value"]
    why = f"{waits:g} wait; network: {web['missing'].get('network')}"
    change = {"group": "batch", "knob": "quota", "level": 1.0, "reason": why}
    print(json.dumps({"changes": [change] if waits > 2 else []}), flush=True)
"""


def looks(*, are_new: bool) -> list[Look]:
    """The tail of a service rises and falls; its leading signals are there or not."""
    more = LEADING if are_new else {}
    every = [
        look(0.5 * at, p99_ms, above=round(10 * p99_ms), web_has={**HAS, **more}, batch_has=more)
        for at, p99_ms in enumerate(P99_MS)
    ]
    return [with_missing(one, "network") for one in every] if are_new else every


def with_missing(one: Look, name: str) -> Look:
    groups = {n: g.model_copy(update={"missing": {name: "shared"}}) for n, g in one.groups.items()}
    return one.model_copy(update={"groups": groups})


def lines(every: list[Look], *, are_old: bool = False) -> list[bytes]:
    """As they are recorded; before this version, groups had no `missing`."""
    tables = [one.model_dump(mode="json") for one in every]
    for group in [g for table in tables for g in table["groups"].values()] if are_old else []:
        del group["missing"]
    return [json.dumps(table).encode() for table in tables]


@pytest.mark.parametrize("name", KINDS)
def test_old_recordings_give_the_same_bytes_and_no_rule_uses_what_it_was_not_published_with(
    name: str,
) -> None:
    recorded = [
        lines(looks(are_new=False), are_old=True),
        lines(looks(are_new=False)),
        lines(looks(are_new=True)),
    ]
    results = []
    for text in recorded:
        with rule(name, {}) as ready:
            decided = replay.decisions(replay.looks(text, "recorded"), ready)
            results.append([replay.as_line(*one) for one in decided])
    assert results[0] == results[1] == results[2]
    assert len(results[0]) == len(P99_MS)


def test_a_program_sees_leading_signals_and_why_others_are_missing(tmp_path: Path) -> None:
    (tmp_path / "rule.py").write_text(PROGRAM)
    with rule(f"program:{sys.executable} {tmp_path / 'rule.py'}", {}) as ready:
        recorded = replay.looks(lines(looks(are_new=True)[:1]), "recorded")
        ((_, decision),) = replay.decisions(recorded, ready)
    assert [one.reason for one in decision.changes] == ["3 wait; network: shared"]


@pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
def test_once_and_the_log_have_them_of_real_groups(tmp_path: Path) -> None:
    names = {*facts.QUEUES, *facts.PRESSURES, *facts.MONITORED, "disk", "network"}
    with testing.stand(tmp_path) as here:
        config = configs.read(here.config("static", constants={"quota": 0.3}))
        audit = Audit(here.audit, lambda _line: None)
        web = json.loads(explained(*Manager(config, audit, None).once()))["look"]["groups"]["web"]
        assert names <= {*web["signals"], *web["missing"]}
        assert not {*web["signals"]} & {*web["missing"]}
        assert web["missing"]["accept_queue"] == facts.NO_PORT
        Manager(config, audit, None).run(lambda: iter([None, None]))
        audit.close()
        (line,) = [one for one in here.events() if one["event"] == "recommend"]
        assert {*line["signals"]} == {"web", "batch"}


def test_the_log_has_signals_of_services_and_of_the_group_that_changes() -> None:
    one = look(1.0, 0.5, web_has={"psi_cpu": 1 / 3}, batch_has={"disk": 7e6})
    one.groups["batch"].signals["disk"] = Signal(value=7e6, age_ms=200.5)  # type: ignore[index]
    facts = basis.of(one, "batch")
    assert facts["window"]["n"] == 1000
    assert facts["signals"] == {
        "web": {"psi_cpu": {"value": 0.333333, "age_ms": 0.0}},
        "batch": {"disk": {"value": 7e6, "age_ms": 200.5}},
    }
    assert {*basis.of(one, "web")["signals"]} == {"web"}
    assert basis.of(look(1.0, None, n=0), "web")["window"]["p99_ns"] is None
