"""A configuration that is read again, whatever comes meanwhile; on real groups."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.manage import config as configs
from sojourn.manage import testing
from sojourn.manage.audit import Audit
from sojourn.manage.daemon import Manager
from sojourn.manage.daemon_test import here, journals, state
from sojourn.manage.pair import Pair
from sojourn.manage.testing import Stand, until
from sojourn.run.journal import Journal
from sojourn.run.signals import Interrupted, ending_in_order

__all__ = ["here", "state"]
pytestmark = pytest.mark.skipif(bool(testing.lack()), reason=testing.lack() or "-")
SAFE = 0.05


@contextlib.contextmanager
def managed(here: Stand, controller: str = "static", **more: object) -> Iterator[Manager]:
    """A manager in this process, which reads its configuration again if it is asked."""
    path = here.config(controller, **more)
    with (
        contextlib.closing(Audit(here.audit, lambda _line: None)) as audit,
        contextlib.closing(Journal.create()) as journal,
    ):
        one = Manager(configs.read(path), audit, journal)
        one.fresh = lambda: configs.read(path, is_again=True)
        yield one


def test_a_signal_between_two_wardens_leaves_none_that_caps_what_is_put_back(
    here: Stand, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real = here.snapshot(), Manager._warden
    guards: list[Pair] = []

    def warden(one: Manager) -> Pair:
        guards.append(real(one))
        if len(guards) > 1:
            signal.raise_signal(signal.SIGTERM)
        return guards[-1]

    def rounds() -> Iterator[None]:
        here.window()
        yield
        one.asked.ask()
        yield

    monkeypatch.setattr(Manager, "_warden", warden)
    with (
        managed(here, constants={"quota": 0.3}, silent_s=60.0) as one,
        pytest.raises(Interrupted),
        ending_in_order(),
    ):
        one.run(rounds)
    assert len(guards) == 2
    every = [one for guard in guards for one in guard._ones]
    assert [one._process.poll() is None for one in every] == [False] * 4
    assert here.snapshot() == before
    assert not journals(state)


def test_a_reload_takes_no_cap_back_from_a_service_that_is_silent(here: Stand) -> None:
    """Also two at once, one that is wrong, and one with another source."""
    quotas: list[float | None] = []
    other = here.folder / "other.jsonl"
    other.touch()

    def rounds() -> Iterator[None]:
        here.window()
        yield
        assert here.quota() == pytest.approx(0.3)
        until(lambda: False, 0.3)
        yield
        path, text = here.folder / "manage.toml", (here.folder / "manage.toml").read_text()
        for new in (text, "controller = ", text.replace(str(here.lines), str(other))):
            path.write_text(new)
            one.asked.ask()
            one.asked.ask()
            yield
            quotas.append(here.quota())
            yield
            quotas.append(here.quota())
        path.write_text(text)
        one.asked.ask()
        yield
        here.window()
        yield
        quotas.append(here.quota())

    with managed(here, constants={"quota": 0.3}, silent_s=0.2) as one:
        one.run(rounds)
    assert quotas == [*[SAFE] * 6, pytest.approx(0.3)]
    seen = [event["event"] for event in here.events()]
    assert (seen.count("reloaded"), seen.count("reload refused")) == (3, 1)
    assert (seen.count("capped"), seen.count("resume")) == (1, 1)
