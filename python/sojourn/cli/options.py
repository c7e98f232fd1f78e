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
    "load",
    "run.measure_s",
    "run.shield",
    "services.LABEL.load.arrivals",
    "services.LABEL.load.connections",
    "services.LABEL.load.popularity",
    "services.LABEL.load.threads",
    "services.LABEL.params.threads",
    "services.LABEL.params.workers",
    "services.LABEL.qos.bound",
)


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
        help="Name of a built-in study (see `sojourn ls`), or path of a TOML file.",
        autocompletion=_studies,
        show_default=False,
    ),
]
StudyOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        help="Name of a built-in study (see `sojourn ls`), or path of a TOML file. "
        "Leave it out with --all.",
        autocompletion=_studies,
        show_default=False,
    ),
]
All = Annotated[
    bool,
    typer.Option(
        "--all",
        rich_help_panel=STUDY_PANEL,
        help="Measure every built-in study in turn, in one results folder.",
    ),
]
Only = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="STUDY,STUDY",
        rich_help_panel=STUDY_PANEL,
        show_default=False,
        autocompletion=_some_studies,
        help="Only these studies, in this order. Names, or paths of TOML files.",
    ),
]
Within = Annotated[
    str | None,
    typer.Option(
        "--within",
        metavar="TIME",
        rich_help_panel=STUDY_PANEL,
        help="With --all: time limit. After the first study, a study that would end later is "
        "postponed. The same command resumes with it. `none`: no limit.",
        show_default="1h with --profile quick, else none",
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        "-p",
        metavar="NAME",
        rich_help_panel=STUDY_PANEL,
        autocompletion=_profiles,
        help="Length and repeats: quick, standard, or full (the papers' 2 minutes a point).",
        show_default="the study's",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        rich_help_panel=STUDY_PANEL,
        show_default=False,
        help="Set any key of the study, such as run.repeats=5 or services.nginx.qos.bound=5ms. "
        "May be given several times.",
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="KEY=LEVEL,LEVEL",
        rich_help_panel=STUDY_PANEL,
        show_default=False,
        autocompletion=_keys,
        help="Measure under each level of a key, such as services.memcached.params.threads=1,2. "
        "With several --vary, every combination is measured. The key `load` means shares of max "
        "RPS.",
    ),
]
Shield = Annotated[
    str | None,
    typer.Option(
        "--shield",
        metavar="NAME",
        rich_help_panel=STUDY_PANEL,
        show_default="the study's",
        help="Protect the server's CPUs. priority: its threads get real-time priority. move: "
        "also move other tasks and interrupts away until the end. none: no protection.",
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="CLUSTER",
        rich_help_panel=STUDY_PANEL,
        show_default="the study's",
        help="Offer load from the nodes of a Ray cluster: ray://HOST:10001, HOST:6379, or local:4 "
        "for four clients on this machine. The same as --set hosts.at=CLUSTER.",
    ),
]
NoShield = Annotated[
    bool,
    typer.Option(
        "--no-shield",
        rich_help_panel=STUDY_PANEL,
        help="Do not protect the server's CPUs. The same as --shield none.",
    ),
]
Results = Annotated[
    Path,
    typer.Option(
        "--results",
        metavar="DIR",
        envvar="SOJOURN_RESULTS",
        rich_help_panel=OUTPUT_PANEL,
        help="Folder for results.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", rich_help_panel=OUTPUT_PANEL, help="Write JSON to stdout."),
]
Export = Annotated[
    list[str] | None,
    typer.Option(
        "--export",
        metavar="FORMAT=FILE",
        rich_help_panel=OUTPUT_PANEL,
        show_default=False,
        help="Also write the answer into a file, such as markdown=answer.md. Formats: html, text, "
        "json, csv (every measured point), markdown, latex, openmetrics, otlp, otlp-traces. May be "
        "repeated.",
    ),
]
RecordArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RECORD]",
        help="A record's folder, part of its name, or a study's name. Default: the newest record.",
        show_default=False,
    ),
]
TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="[TABLE]",
        help="Co-location table: L28 or L33 (from the paper), a record of `batch_colocation` "
        "(study name or folder), or a JSON file (see schema/colocation).",
    ),
]
SettingOption = Annotated[
    str,
    typer.Option(
        "--setting",
        help="With a record: the setting as its report names it, or a part of that name.",
        show_default="the first",
    ),
]
NeighbourOption = Annotated[
    str, typer.Option(help="Neighbour whose throughput counts. mean: the mean of all neighbours.")
]

RESULTS = Path(os.environ.get("SOJOURN_RESULTS", "results"))


def hosts_sets(hosts: str | None) -> list[str]:
    """The cluster as a `--set` of the study: the record has what is asked here."""
    return [f"hosts.at={hosts}"] if hosts else []
