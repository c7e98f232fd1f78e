"""TOML → frozen models: the question as it was asked, checked without a machine.

Each name is loaded when it is asked for, because models and numerics take a quarter of a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn import late

if TYPE_CHECKING:
    from sojourn.spec.models import Study
    from sojourn.spec.profiles import PROFILES
    from sojourn.spec.qos import Qos, QosRule
    from sojourn.spec.reading import load
    from sojourn.spec.run import RunSpec, SearchSpec
    from sojourn.spec.service import MaxRps, Pin, ServiceSpec
    from sojourn.spec.studies import STUDIES, find, located, names, of_papers
    from sojourn.spec.text import STUDY_BYTES
    from sojourn.spec.write import to_toml

__all__ = [
    "PROFILES",
    "STUDIES",
    "STUDY_BYTES",
    "MaxRps",
    "Pin",
    "Qos",
    "QosRule",
    "RunSpec",
    "SearchSpec",
    "ServiceSpec",
    "Study",
    "find",
    "load",
    "located",
    "names",
    "of_papers",
    "to_toml",
]

__getattr__ = late.names(
    __name__,
    {
        "reading": ["load"],
        "models": ["Study"],
        "profiles": ["PROFILES"],
        "qos": ["Qos", "QosRule"],
        "run": ["RunSpec", "SearchSpec"],
        "service": ["MaxRps", "Pin", "ServiceSpec"],
        "studies": ["STUDIES", "find", "located", "names", "of_papers"],
        "text": ["STUDY_BYTES"],
        "write": ["to_toml"],
    },
)
