"""Fixtures for tests on real servers: a session, points, and what must be left: nothing.

Two of these tests run at a time (`make e2e`). Those of the group "turn" run one after another,
because they measure by the command line, which takes the machine's lock. Those that are marked
`alone` compare the machine before and after; they run when the others have ended.
"""

from __future__ import annotations

import runpy
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from sojourn import host, install, places, programs, run
from sojourn.errors import HostFault
from sojourn.host.abilities import abilities
from sojourn.install import specjbb
from sojourn.install.part import CACHE
from sojourn.plan import Point, codec
from sojourn.questions import PLANS, catalogue
from sojourn.services.tpcc import postgres
from sojourn.spec import Study

GONE_S_MAX = 300.0  # a guard against a hang; a busy machine may take long
LAB = Path(__file__).with_name("lab.py")
INSTALL = {"memcached": "memcached", "nginx": "nginx-light", "redis": "redis-server"}
PROGRAMS = {"redis": "redis-server"}  # where its name is not the kind's


@pytest.fixture(scope="session")
def lab() -> SimpleNamespace:
    """`lab.py` as a module."""
    return SimpleNamespace(**runpy.run_path(str(LAB)), path=LAB)


@pytest.fixture(scope="session")
def java_cache(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A cache with the Java service in it; None: there is no JDK, or the user's own has it."""
    if specjbb.java() is None:
        return None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CACHE, str(tmp_path_factory.mktemp("cache")))
        return install.fetch(specjbb.PART, ()).at.parent


@pytest.fixture
def needs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Skip the test where a server is not installed."""

    def check(kind: str) -> None:
        if kind == "specjbb" and (cache := request.getfixturevalue("java_cache")):
            monkeypatch.setenv(CACHE, str(cache))
        elif kind == "specjbb" and specjbb.PART.made() is None:
            pytest.skip(f"needs a JDK, or {specjbb.PART.command}")
        elif kind == "shore":
            try:
                postgres.home()
            except HostFault as fault:
                pytest.skip(f"needs shore: {fault.fix}")
        elif kind in install.KINDS and install.part(kind).made() is None:
            pytest.skip(f"needs {kind}: sojourn install {kind}")
        if kind in INSTALL and programs.maybe(PROGRAMS.get(kind, kind)) is None:
            pytest.skip(f"needs {kind}: apt install {INSTALL[kind]}")

    return check


@pytest.fixture(scope="session")
def needs_place() -> Callable[[str], None]:
    """Skip the test where this machine lacks what a kind of place needs."""
    can = {ability.name: ability for ability in abilities(host.read(sample_s=0))}

    def check(name: str) -> None:
        kind = places.kind(name)
        for ability in (can[needed] for needed in kind.abilities):
            if not ability.can:
                pytest.skip(f"needs {ability.missing}: {ability.fix}")
        for program, package in kind.programs.items():
            if programs.maybe(program) is None:
                pytest.skip(f"needs {program}: apt install {package}")

    return check


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def session(state: Path) -> Iterator[run.Session]:
    with run.Session(
        host.read(sample_s=0), state=state, every_s=1.0, catalogue=catalogue()
    ) as made:
        yield made


@pytest.fixture
def measure(tmp_path: Path, session: run.Session) -> Callable[[Study, Point], Path]:
    """Measure a point; returns its folder."""

    def execute(study: Study, point: Point) -> Path:
        folder, point = tmp_path / point.key.replace("/", "-"), PLANS.stated(point)
        folder.mkdir()
        (folder / "point.json").write_text(codec.dumps(point))
        run.execute(study, point, folder, session)
        return folder

    return execute


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool], str], None]:
    """Wait for something, but not for ever."""

    def wait(holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + GONE_S_MAX
        while not holds():
            assert time.monotonic() < end, what
            time.sleep(0.02)

    return wait


@pytest.fixture(autouse=True)
def nothing_is_left(state: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """After each test: no working folder, no journal. Each has temporary files of its own."""
    with tempfile.TemporaryDirectory(prefix="test-") as name:
        Path(name).chmod(0o755)  # the servers' user has to enter it
        monkeypatch.setenv("TMPDIR", name)
        monkeypatch.setattr(tempfile, "tempdir", None)  # so that TMPDIR is looked at again
        yield
        assert not list(Path(name).iterdir())
    assert not list(state.glob("*"))
