"""A lab to be killed: measures one long point and tells what it started.

python lab.py SERVICE FOLDER STATE [PLACE [NEIGHBOUR]]
"""

from __future__ import annotations

import sys
from pathlib import Path

from sojourn import host, run
from sojourn.plan import Phase, Point, codec
from sojourn.spec import ServiceSpec, Study
from sojourn.spec.profiles import PROFILES

MEASURE_S = 60.0
PARAMS: dict[str, dict[str, object]] = {
    "memcached": {"items": 5_000},
    "nginx": {"files": 200, "workers": 2},
    "synthetic": {"service": "fixed:20us", "mode": "sleep"},
    "null": {},
}


def study(
    *kinds: str,
    place: str = "local",
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
                "params": PARAMS[kind] | params,
                "load": {"connections": 8, "wait": "sleep"},
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


def main() -> None:
    service, folder, state = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    place = sys.argv[4] if len(sys.argv) > 4 else "local"
    neighbour = sys.argv[5] if len(sys.argv) > 5 else "none"
    asked = point(service, measure_s=MEASURE_S)
    folder.mkdir(parents=True)
    (folder / "point.json").write_text(codec.dumps(asked))

    def tell(event: run.Event) -> None:
        if event.step == "measure":
            (folder / "measuring").touch()

    with run.Session(host.read(sample_s=0), show=tell, state=state) as session:
        asked_of = study(service, place=place, neighbour=neighbour)
        run.execute(asked_of, asked, folder, session)


if __name__ == "__main__":
    main()
