"""TOML → frozen models: the question as it was asked, checked without a machine."""

from sojourn.spec.load import load
from sojourn.spec.models import Study
from sojourn.spec.profiles import PROFILES
from sojourn.spec.qos import Qos, QosRule
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
