"""`sojourn classify`: what kind of service one is, by what it used in several scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import classify_show, classify_tables, lowered
from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.models_show import end
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, RecordArgument, Results
from sojourn.cli.plain import put_json
from sojourn.errors import SpecFault
from sojourn.units import parse_bytes

if TYPE_CHECKING:
    from sojourn.models.classify import Class
    from sojourn.models.classify.held import Held
    from sojourn.store.record import Record


def classify(
    name: RecordArgument = None,
    is_paper: Annotated[
        bool,
        typer.Option("--paper", help="Apply the rules to the paper's nine services and compare."),
    ] = False,
    is_planted: Annotated[
        bool,
        typer.Option("--planted", help="Test the rules on simulated services of known class."),
    ] = False,
    memory_max: Annotated[
        str,
        typer.Option(
            metavar="BYTES/S",
            help="Memory bandwidth of this machine, such as 14GB.",
            show_default="not known",
        ),
    ] = "",
    has_details: Annotated[
        bool,
        typer.Option(
            "--details",
            rich_help_panel=OUTPUT_PANEL,
            help="With --paper: show the row of each service.",
        ),
    ] = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Classify a service: whether it scales, whether SMT matters, and its critical resource.

    It reads a record in which the service ran with several numbers of threads, each on CPUs of
    their own. Nothing is started. The measured load decides. The paper's rule on CPU use and memory
    bandwidth (P1, P12, P16, P17) is shown beside it, with what this host could not observe. For
    services of known class it also shows the truth. Exit code 3: an answer is undecided. 1: an
    answer contradicts the known truth.

    \b
    Examples:
      sojourn run thread_scaling && sojourn classify thread_scaling
      sojourn classify                       # the newest record
      sojourn classify --memory-max 14GB     # bandwidth, from STREAM
      sojourn classify --paper               # Tables 3 and 4 of the paper
      sojourn classify --planted             # four simulated services
      sojourn run planted_classes && sojourn classify planted_classes   # measured
    """
    if sum((name is not None, is_paper, is_planted)) > 1:
        raise SpecFault(
            "only one of a record, --paper and --planted can be given",
            at="sojourn classify",
            fix="run the command once for each",
        )
    if is_paper:
        classify_tables.paper(as_json=as_json, has_details=has_details)
    elif is_planted:
        classify_tables.planted_ones(as_json=as_json)
    else:
        from sojourn import store

        most = _bytes(memory_max)
        lowered.for_reading(path := store.resolve(results, name))
        _record(store.read(path), most, as_json=as_json)


def _bytes(text: str) -> float | None:
    try:
        return float(parse_bytes(text.removesuffix("/s"))) if text else None
    except ValueError as error:
        raise SpecFault(
            str(error), at="--memory-max", fix="write bytes a second, such as 14GB"
        ) from None


def _record(record: Record, memory_max: float | None, *, as_json: bool) -> None:
    from sojourn.models.classify import published
    from sojourn.models.classify.held import held
    from sojourn.models.classify.record import classes
    from sojourn.questions import PLANS, answers, readers
    from sojourn.record.load import study_data

    result = classes(record, study_data(record, PLANS, readers()), answers(), memory_max=memory_max)
    if not result:
        raise SpecFault(
            "no valid run of this record has samples of its service's resource use",
            at=str(record.path),
            fix="measure again, because newer versions record them with every point: "
            "`sojourn run thread_scaling`",
        )
    known = held(record, result)
    kinds = {spec.label: spec.kind for spec in record.study.services}
    papers = published.beside_ours(kinds, result)
    if as_json:
        more = ({"known": known} if known else {}) | ({"papers": papers} if papers else {})
        put_json({"label": "measured", "record": str(record.path), "classes": result, **more})
    else:
        console = to_stdout()
        for one in result:
            classify_show.print_class(console, one)
        classify_show.print_known(console, known)
        classify_show.print_papers(console, papers)
        console.print(f"next: {escape(_next(record, result))}")
    end(_word(result, known))


def _word(classes: Sequence[Class], known: Sequence[Held]) -> str:
    """For planted services it counts the recognised ones; for others whether all is decided."""
    from sojourn.models.classify.held import How

    if known:
        hows = {one.how for one in known}
        return "violated" if How.WRONG in hows else "unknown" if How.OPEN in hows else "holds"
    return "holds" if all(one.is_decided for one in classes) else "unknown"


def _next(record: Record, classes: Sequence[Class]) -> str:
    """The one command that would decide more."""
    from sojourn import services
    from sojourn.models.classify.record import THREADS
    from sojourn.spec.levels import short

    study = record.study
    if all(len(one.scenarios) == 1 for one in classes):
        if any(short(key) in THREADS for key in study.factors):
            return f"sojourn plan {study.name}    which scenarios this machine lacks, and why"
        spec = study.services[0]
        width = services.kind(spec.kind).width or "threads"
        return f"sojourn run {study.name} --vary services.{spec.label}.params.{width}=1,2,8"
    if not all(one.is_decided for one in classes):
        return f"sojourn run {study.name} --profile full && sojourn classify {study.name}"
    return f"sojourn report {record.path}"
