"""Options that several commands share, described once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

STUDY_PANEL, OUTPUT_PANEL = "Study", "Output"


# Each press of the tab key starts the program: completion reads names, not the parsed studies.
STUDIES = Path(__file__).parents[1] / "studies"
PROFILES = ("quick", "standard", "full")
KEYS = (
    "load", "run.measure_s", "run.shield", "services.LABEL.load.arrivals",
    "services.LABEL.load.connections", "services.LABEL.load.popularity",
    "services.LABEL.load.threads", "services.LABEL.params.threads",
    "services.LABEL.params.workers", "services.LABEL.qos.bound",
)  # fmt: skip


def _studies(incomplete: str) -> list[str]:
    return sorted(path.stem for path in STUDIES.glob("*.toml") if path.stem.startswith(incomplete))


def _some_studies(incomplete: str) -> list[str]:
    """The last name of a list with commas, completed."""
    before, comma, last = incomplete.rpartition(",")
    named = before.split(",")
    return [f"{before}{comma}{name}" for name in _studies(last) if name not in named]


def _profiles(incomplete: str) -> list[str]:
    return [name for name in PROFILES if name.startswith(incomplete)]


def _keys(incomplete: str) -> list[str]:
    """Keys that are often varied; that of a service is completed for any label that is typed."""
    head = incomplete.split(".")
    label = head[1] if head[0] == "services" and len(head) > 2 else "LABEL"
    keys = [key.replace("LABEL", label) for key in KEYS]
    return [f"{key}=" for key in keys if key.startswith(incomplete)]


StudyArgument = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="Name of a study that comes with the lab (see `sojourn ls`), or path of a TOML file.",
        autocompletion=_studies,
        show_default=False,
    ),
]
StudyOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        help="Name of a study that comes with the lab (see `sojourn ls`), or path of a TOML file; "
        "none with --all.",
        autocompletion=_studies,
        show_default=False,
    ),
]
All = Annotated[
    bool,
    typer.Option(
        "--all", rich_help_panel=STUDY_PANEL,
        help="Every study that comes with the lab, one after another, in one results folder.",
    ),
]  # fmt: skip
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only", metavar="STUDY,STUDY", rich_help_panel=STUDY_PANEL, show_default=False,
        autocompletion=_some_studies,
        help="With --all: these alone, in this order; names, or paths of TOML files.",
    ),
]  # fmt: skip
Within = Annotated[
    str | None,
    typer.Option(
        "--within", metavar="TIME", rich_help_panel=STUDY_PANEL,
        help="With --all: after the first, begin no study that would end later than this; those "
        "wait, and the same command goes on with them. `none`: measure all.",
        show_default="1h with --profile quick, else none",
    ),
]  # fmt: skip
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", "-p", metavar="NAME", rich_help_panel=STUDY_PANEL, autocompletion=_profiles,
        help="How much care: quick, standard, or full (the papers' 2 minutes a point).",
        show_default="the study's",
    ),
]  # fmt: skip
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", metavar="KEY=VALUE", rich_help_panel=STUDY_PANEL, show_default=False,
        help="Set any key of the study, such as run.repeats=5 or services.nginx.qos.bound=5ms. "
        "May be given several times.",
    ),
]  # fmt: skip
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", metavar="KEY=LEVEL,LEVEL", rich_help_panel=STUDY_PANEL, show_default=False,
        autocompletion=_keys,
        help="Measure under each level of a key of the study, and every combination of several, "
        "such as services.memcached.params.threads=1,2. The word load means shares of max RPS; "
        "rates follow from them. May be given several times.",
    ),
]  # fmt: skip
Shield = Annotated[
    str | None,
    typer.Option(
        "--shield", metavar="NAME", rich_help_panel=STUDY_PANEL, show_default="the study's",
        help="What keeps the server's CPUs for the server: priority (real-time, for its own "
        "threads), move (also moves other tasks, kernel threads and interrupts off them, and "
        "back afterwards), or none.",
    ),
]  # fmt: skip
NoShield = Annotated[
    bool,
    typer.Option(
        "--no-shield", rich_help_panel=STUDY_PANEL,
        help="Measure as this machine schedules it; the same as --shield none.",
    ),
]  # fmt: skip
Results = Annotated[
    Path,
    typer.Option(
        "--results", metavar="DIR", envvar="SOJOURN_RESULTS", rich_help_panel=OUTPUT_PANEL,
        help="Folder of all results.",
    ),
]  # fmt: skip
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", rich_help_panel=OUTPUT_PANEL, help="Write JSON to stdout, for machines."
    ),
]
RecordArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECORD]",
        help="A record's folder, part of its name, or a study's name; by default the newest.",
        show_default=False,
    ),
]
TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="[TABLE]",
        help="Co-location table: L28, L33 (the paper's), a record of `batch_colocation` (its "
        "study's name or its folder), or a JSON file (see schema/colocation).",
    ),
]
SettingOption = Annotated[
    str,
    typer.Option(
        "--setting",
        help="Of a record: the setting, as its report calls it, or a part of that.",
        show_default="the first",
    ),
]
NeighbourOption = Annotated[
    str, typer.Option(help="Whose throughput; mean: the mean of all neighbours.")
]

RESULTS = Path(os.environ.get("SOJOURN_RESULTS", "results"))
