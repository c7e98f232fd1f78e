"""A Ray of this machine alone lets no one else in."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sojourn import extras
from sojourn.errors import HostFault
from sojourn.hosts import alone, ray_engine
from sojourn.run import state
from sojourn.spec.hosts import HostsSpec

LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
ASKS = "token"


class FakeRay(SimpleNamespace):
    """Ray that says what it saw when it was started.

    Attributes:
        mode: how it asks for a token.
        seen: its environment at each start.
    """

    def __init__(self, mode: str = ASKS, version: str = "2.52.0") -> None:
        core = {
            "get_authentication_mode": lambda: mode,
            "AuthenticationMode": SimpleNamespace(TOKEN=ASKS),
        }
        super().__init__(__version__=version, _raylet=SimpleNamespace(**core), seen=[])

    def init(self, **_: Any) -> None:
        self.seen.append(dict(os.environ))

    def shutdown(self) -> None:
        """Nothing was started."""

    def kill(self, actor: Any) -> None:
        """No agent was started."""


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(state.STATE, str(tmp_path / "state"))
    monkeypatch.setattr(alone, "PLACE", tmp_path)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv(LOOPBACK, raising=False)


def test_a_ray_of_this_machine_alone_asks_for_a_token_and_is_on_loopback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray = FakeRay()
    loaded: list[dict[str, str]] = []

    def need(_: str) -> FakeRay:
        loaded.append(dict(os.environ))
        return ray

    monkeypatch.setattr(extras, "need", need)
    for _ in range(2):
        ray_engine.connect(HostsSpec(at="local:2")).close()
    assert len(ray.seen) == len(loaded) == 2
    for seen in (*loaded, *ray.seen):  # Ray reads some of them once, when it is loaded
        assert (seen["RAY_AUTH_MODE"], seen[LOOPBACK]) == (ASKS, "0")
        assert len(seen["RAY_AUTH_TOKEN"]) == 2 * alone.TOKEN_BYTES
    assert len({seen["RAY_AUTH_TOKEN"] for seen in ray.seen}) == 1
    assert os.environ["RAY_AUTH_MODE"] == "disabled"
    assert not {"RAY_AUTH_TOKEN", LOOPBACK} & set(os.environ)


def test_a_cluster_of_others_is_joined_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = FakeRay(mode="disabled")
    monkeypatch.setattr(extras, "need", lambda _: ray)
    ray_engine.connect(HostsSpec(at="h:6379")).close()
    assert ray.seen[0]["RAY_AUTH_MODE"] == "disabled"
    assert not {"RAY_AUTH_TOKEN", LOOPBACK} & set(ray.seen[0])


@pytest.mark.parametrize("is_older", [True, False])
def test_a_ray_that_asks_for_no_token_is_not_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, is_older: bool
) -> None:
    ray = FakeRay(mode="disabled", version="2.51.1")
    if is_older:
        del ray._raylet.get_authentication_mode
    monkeypatch.setattr(extras, "need", lambda _: ray)
    with pytest.raises(HostFault, match="asks for no token") as fault:
        ray_engine.connect(HostsSpec(at="local:2"))
    assert f"ray>={alone.SINCE}" in fault.value.fix
    assert not ray.seen
    assert not list(tmp_path.glob("sojourn-*"))
