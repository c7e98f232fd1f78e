"""The study behind `sojourn compare` and `sojourn gate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.spec import form
from sojourn.spec.models import Study
from sojourn.spec.own import QUICK

LABELS = "abcdefgh"
MEASURE_S = 2.0
#: Clients of a service that is not known: late by what such a service does not notice is on time.
LOAD: Mapping[str, Any] = {"timely_within": "500us", "connections": 16}


def study_of(
    sides: Sequence[Mapping[str, Any]],
    *,
    rate: str,
    compare: Mapping[str, Any],
    measure_s: float = MEASURE_S,
    name: str = "compare",
) -> Study:
    """A study of services that are measured in turn.

    Args:
        sides: the services as a study file has them, without label; they are called a, b, ….
        rate: offered load, requests/s; "": half of the lowest max RPS, which is measured first.
        compare: keys of `[compare]`.
        measure_s: length of a run, s.
        name: of the study.

    Raises:
        pydantic.ValidationError: a key is wrong.
    """
    services = [
        {"measure": ["null"], **side, "label": label, "load": {**LOAD, **side.get("load", {})}}
        for label, side in zip(LABELS, sides, strict=False)
    ]
    labels = [service["label"] for service in services]
    loads = {"rates": [rate], "fractions": ()} if rate else {"fractions": (0.5,)}
    run = {**QUICK, "shield": "priority", "measure_s": measure_s, "budget_s": 86_400.0, **loads}
    return form.current().study.model_validate(
        {
            "name": name,
            "question": f"Is {' or '.join(labels[1:])} worse than a?",
            "aa": False,
            "probe": "0",
            "run": run,
            "services": services,
            "compare": {"services": labels, **compare},
        }
    )
