"""A lab to be killed: measures one long point and says what it started.

python lab.py SERVICE FOLDER STATE [PLACE [NEIGHBOUR [KNOBS]]]

KNOBS: levels by name, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from sojourn import host, run
from sojourn.plan import Phase, Point, codec
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES

MEASURE_S = 60.0
LATE = {"timed_out", "unanswered", "unsent"}  # on a machine that had no time for it
STARVED_NS, STARVED_SHARE = 100_000_000, 0.1  # one stop, or of the time: requests are late then
STEPS_MAX = 60
KILLED = Path(__file__).with_name("killed.py")
PARAMS: dict[str, dict[str, object]] = {
    "memcached": {"items": 5_000},
    "redis": {"items": 5_000},
    "nginx": {"files": 200, "workers": 2},
    "img_dnn": {"hidden": 64},
    "shore": {"items": 500, "customers": 40, "warehouses": 2, "threads": 3},
    "ordered_map": {"items": 5_000, "batch": 50},
    "xapian": {},
    "sphinx": {"threads": 1},
    "moses": {"threads": 2},
    "silo": {"items": 1_000, "batch": 2},
    "planted": {"busy_us": 200, "wait_us": 200},
    "specjbb": {"items": 1_000, "batch": 2, "heap_mb": 64, "warm_s": 0.0},
    "media_streaming": {"workers": 1},
    "synthetic": {"service": "fixed:20us", "mode": "sleep"},
    "null": {},
}
CONNECTIONS = {"shore": 3}  # its threads


def study(
    *kinds: str,
    place: str = "local",
    knobs: object = None,
    neighbour: str = "none",
    manager: str = "none",
    goals: tuple[str, ...] = ("sweep",),
    **params: object,
) -> Study:
    services = [
        ServiceSpec.model_validate(
            {
                "kind": kind,
                "place": place,
                "measure": goals,
                "knobs": knobs or {},
                "params": PARAMS[kind] | params,
                "load": {"connections": CONNECTIONS.get(kind, 8), "wait": "sleep"},
            }
        )
        for kind in kinds
    ]
    return Study(
        name="lab",
        question="?",
        run=PROFILES["quick"],
        services=tuple(services),
        neighbour=neighbour,
        manager=manager,
    )


def point(service: str, *, name: str = "p", measure_s: float = 1.0, repeat: int = 0) -> Point:
    return Point(
        key=f"{service}/sweep/{name}",
        service=service,
        phase=Phase.SWEEP,
        offered_rps=1000.0,
        measure_s=measure_s,
        warmup_s=0.2,
        seed=11,
        repeat=repeat,
    )


def wrong(folder: Path) -> dict[str, int]:
    """How many requests of a point failed, by kind.

    Those that came too late do not count where the run's own log shows that client or server were
    kept from their CPUs for long, because then no service could have answered in time.

    Raises:
        AssertionError: no reply was good.
    """
    load = json.loads((folder / "load.json").read_text())
    errors: dict[str, int] = load["errors"]
    assert load["requests"] > sum(errors.values()), "not one good reply"
    outages, stops = load["outages"], load.get("server_stops") or {}
    longest_ns = max(outages["longest_ns"], stops.get("longest_ns", 0))
    share = max(outages["share_time"], stops.get("share_disturbed", 0.0))
    is_starved = longest_ns >= STARVED_NS or share >= STARVED_SHARE
    return {kind: n for kind, n in errors.items() if not (is_starved and kind in LATE)}


def killed_at_every_step(
    what: str, state: Path, seen: Callable[[], object], *more: str
) -> list[int]:
    """Let a lab die before each of its steps in turn, restore, and look: all is as it was before.

    Args:
        what: it makes and unmakes, of `killed.py`.
        state: folder for journals.
        seen: looks at what it changes.
        more: words for it.

    Returns:
        The steps after whose death something was left to be undone.
    """
    before, dirty = seen(), []
    for step, folder, is_through in deaths(what, state, *more):
        was_left = seen() != before
        undone = run.restore(folder)
        assert all(one.is_done for one in undone), undone
        assert was_left == bool(undone), (step, undone)
        assert seen() == before, (step, undone)
        assert not list(folder.glob("*")), step
        assert not (is_through and undone)
        dirty += [step] if undone else []
    return dirty


def deaths(what: str, state: Path, *more: str) -> Iterator[tuple[int, Path, bool]]:
    """Labs of `killed.py`, one after the other: (step, folder of its journal, whether it lived)."""
    words = [sys.executable, str(KILLED), what, str(state), *more]
    pipe = subprocess.PIPE
    with (
        contextlib.ExitStack() as left,
        subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as killed,
    ):
        assert killed.stdin is not None
        assert killed.stdout is not None
        for step in range(1, STEPS_MAX):
            left.callback(run.restore, state / str(step))  # also where the test fails or is ended
            status = killed.stdout.readline().strip()
            assert status in {"0", f"{-signal.SIGKILL}"}, f"{what}, step {step}: {status}"
            yield step, state / str(step), status == "0"
            if status == "0":
                return
            killed.stdin.write("\n")
            killed.stdin.flush()
    raise AssertionError(f"{what} has more steps than {STEPS_MAX}")


def main() -> None:
    service, folder, state = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    place = sys.argv[4] if len(sys.argv) > 4 else "local"
    neighbour = sys.argv[5] if len(sys.argv) > 5 else "none"
    knobs = json.loads(sys.argv[6]) if len(sys.argv) > 6 else {}
    asked = point(service, measure_s=MEASURE_S)
    folder.mkdir(parents=True)
    (folder / "point.json").write_text(codec.dumps(asked))

    def tell(event: run.Event) -> None:
        if event.step == "measure":
            (folder / "measuring").touch()

    facts = host.read(sample_s=0)
    with run.Session(facts, show=tell, state=state, every_s=1.0) as session:
        asked_of = study(service, place=place, neighbour=neighbour, knobs=knobs)
        run.execute(asked_of, asked, folder, session)


if __name__ == "__main__":
    main()
