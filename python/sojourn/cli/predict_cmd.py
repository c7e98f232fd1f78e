"""`sojourn predict`: a service beside a neighbour that it never ran beside."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import lowered
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put, put_json
from sojourn.errors import Exit, SpecFault
from sojourn.text.numbers import percentile
from sojourn.units import parse_count, parse_ns

if TYPE_CHECKING:
    from sojourn.foresight.forecast import Forecast
    from sojourn.foresight.lacking import Known

SCHEMA = "sojourn.forecast/1"
_TARGET = re.compile(r"\s*p(?P<percent>\d+(?:\.\d+)?)\s*(?:<=|≤|<)\s*(?P<bound>\S+)\s*")
NEIGHBOURS_MAX = 50

Service = Annotated[
    str,
    typer.Option(
        "--service",
        metavar="NAME",
        show_default=False,
        help="The service, as records call it: its label or kind.",
    ),
]
Beside = Annotated[
    list[str] | None,
    typer.Option(
        "--beside",
        metavar="NEIGHBOUR",
        show_default=False,
        help="The neighbour, as studies write it: batch:xz. May be given several times.",
    ),
]
Target = Annotated[
    str,
    typer.Option("--target", metavar="TEXT", help="Quantile and bound: p50, p95 or p99."),
]
Load = Annotated[
    str,
    typer.Option(
        "--load",
        metavar="LIST",
        show_default="the measured loads",
        help="Loads at which the tail is wanted, requests/s or shares of max RPS: 20k,50%.",
    ),
]
Study = Annotated[
    bool,
    typer.Option("--study", help="Print the study that measures what lacks, and predict nothing."),
]
Measure = Annotated[
    bool,
    typer.Option("--measure", help="Measure what records lack first: minutes for each service."),
]


def predict(
    service: Service = "",
    beside: Beside = None,
    target: Target = "p99<=10ms",
    load: Load = "",
    study: Study = False,
    measure: Measure = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> int:
    """Will a service and a neighbour get along? Predict it before it happens.

    It needs two things from records of one machine: how the service takes known doses of each
    resource (an antagonist at a held intensity), and what the neighbour does to some other service,
    which took the same doses. The neighbour then equals doses, and what these do to the service
    is known. Printed are the highest load within the target, the tail by load, and what the
    neighbour keeps of its pace, each with an interval (90 %) and labelled as predicted.

    With --study it prints the study that measures a service beside doses, and beside neighbours.
    If records lack, the message has the commands that make them, with minutes. With --measure
    they are made first, in this folder, as by those commands.

    Exit codes: 0 predicted (with --load: the target holds), 1 it is violated at a load of
    --load, 2 wrong usage or no record, 3 not known: a load lies within the interval.

    \b
    Examples:
      sojourn predict --service memcached --study > m.toml && sojourn run m.toml
      sojourn predict --service redis --beside batch:xz --study > r.toml && sojourn run r.toml
      sojourn predict --service memcached --beside batch:xz --target "p99<=5ms"
      sojourn predict --service memcached --beside batch:xz --load 20k,40k --json
      sojourn predict --service memcached --beside batch:xz --measure
    """
    from sojourn.foresight import forecast, lacking, victims
    from sojourn.foresight import study as studies

    asked = beside or []
    if not service or len(asked) > NEIGHBOURS_MAX:
        raise SpecFault(
            "no service is named" if not service else f"{len(asked)} neighbours are too many",
            at="--service" if not service else "--beside",
            fix="write --service memcached --beside batch:xz",
        )
    if study:
        put(studies.text(service, asked).rstrip())
        return Exit.OK
    if not asked:
        raise SpecFault(
            "no neighbour is named", at="--beside", fix="write --beside batch:xz, or --study"
        )
    q, bound_ns = parse_target(target, tuple(victims.QUANTILES))
    if measure:
        from sojourn.cli.measure_first import measure_first

        code = measure_first(service, asked, results)
        if code != Exit.OK:
            return code
    lowered.for_reading(results)
    every = victims.all_of(results)
    gathered = []
    for neighbour in asked:
        known = lacking.known(every, service, neighbour)
        loads = _loads(load, known.service.peak_rps)
        result = forecast.forecast(
            known.service, known.rulers, known.level, q, bound_ns=bound_ns, loads_rps=loads
        )
        gathered.append((known, result, loads))
    if as_json:
        put_json({"schema": SCHEMA, "forecasts": [_document(*one) for one in gathered]})
    else:
        for known, result, loads in gathered:
            _print(known, result, loads)
    return _exit([(result, loads) for _, result, loads in gathered])


def parse_target(text: str, known: Sequence[float]) -> tuple[float, float]:
    """A target such as `p99<=10ms` as quantile and bound, ns.

    Raises:
        SpecFault: it is none, or the quantile is not known.
    """
    match = _TARGET.fullmatch(text)
    fix = f"write p99<=10ms; quantiles are {', '.join(map(percentile, known))}"
    if match is None:
        raise SpecFault(f"'{text}' is no target", at="--target", fix=fix)
    q = next((q for q in known if percentile(q) == f"p{match['percent']}"), None)
    if q is None:
        raise SpecFault(f"p{match['percent']} is not known here", at="--target", fix=fix)
    try:
        bound_ns = parse_ns(match["bound"], needs_unit=True)
    except ValueError as error:
        raise SpecFault(str(error), at="--target", fix=fix) from None
    if bound_ns <= 0:
        raise SpecFault("no tail is within a bound of 0", at="--target", fix=fix)
    return q, float(bound_ns)


def _loads(text: str, peak_rps: float) -> list[float]:
    gathered = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        try:
            is_share = word.endswith("%")
            number = float(word[:-1]) / 100 * peak_rps if is_share else parse_count(word)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise SpecFault(f"'{word}' is no load", at="--load", fix="write 20k,40k or 30%,50%")
        gathered.append(number)
    return gathered


def _exit(gathered: list[tuple[Forecast, list[float]]]) -> int:
    from sojourn.foresight import words

    verdicts = [words.verdict(result, rps) for result, loads in gathered for rps in loads]
    if "violated" in verdicts:
        return Exit.VIOLATED
    is_unknown = "unknown" in verdicts or any(one.censored == "below" for one, _ in gathered)
    return Exit.UNKNOWN if is_unknown else Exit.OK


def _document(known: Known, result: Forecast, loads: list[float]) -> dict[str, Any]:
    from sojourn.foresight import words

    return {
        "label": "predicted",
        **asdict(result),
        "verdicts": [words.verdict(result, rps) for rps in loads],
        "records": [known.service.record, *(one.record for one, _ in known.rulers)],
        "place": dict(known.service.place),
        "check": words.check(known.service.record, known.level),
    }


def _print(known: Known, result: Forecast, loads: list[float]) -> None:
    from sojourn.cli.draw import escape, new_table, to_stdout
    from sojourn.foresight import words

    console = to_stdout()
    for line in words.lines(result):
        console.print(escape(line))
    table = new_table(*words.COLUMNS)
    for row in words.rows(result):
        table.add_row(*map(escape, row))
    console.print(table)
    for rps in loads:
        console.print(escape(f"at {rps:,.0f}/s: {words.verdict(result, rps)}"))
    for remark in words.remarks(result, known.service.record, known.level):
        console.print(f"[dim]- {escape(remark)}[/]", soft_wrap=True)
