"""`sojourn try`: half a minute of load on the user's own service, and one number."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import credentials, qos_options
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, AsJson
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.plain import put, put_json
from sojourn.cli.terminal_width import width
from sojourn.errors import Exit, SpecFault
from sojourn.text.plain_values import plain

if TYPE_CHECKING:
    from sojourn.services.own.external import External
    from sojourn.spec import Study

_LOAD, _SERVICE = "Load", "Service"
_EXITS = {"holds": Exit.OK, "violated": Exit.VIOLATED, "unknown": Exit.UNKNOWN}

Target = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        show_default=False,
        help="A URL, host:port or the path of a unix socket.",
    ),
]
Rates = Annotated[
    str,
    typer.Option(
        "--rates",
        metavar="RATE,RATE",
        rich_help_panel=_LOAD,
        help="Offer only these loads, in requests/s, such as 500,2k.",
        show_default="up to the highest load that the service can take",
    ),
]
Connections = Annotated[
    int,
    typer.Option(
        "--connections",
        "-c",
        min=1,
        max=10_000,
        rich_help_panel=_LOAD,
        help="Number of connections in total.",
    ),
]
AnyLength = Annotated[
    bool,
    typer.Option(
        "--any-length",
        rich_help_panel=_SERVICE,
        help="Accept replies of any length, also empty ones. Without this option, replies must be "
        "as long as the first ones.",
    ),
]
Yes = Annotated[
    bool,
    typer.Option(
        "--yes",
        "-y",
        rich_help_panel=_LOAD,
        help="Allow full load on a service of another machine.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT_PANEL, help="Show no progress.")
]


def try_(
    target: Target,
    bound: qos_options.Bound = "",
    quantile: qos_options.Quantile = qos_options.USUAL_Q,
    rates: Rates = "",
    connections: Connections = 16,
    preload: credentials.Preload = False,
    any_length: AnyLength = False,
    insecure: credentials.Insecure = False,
    ca_file: credentials.CaFile = "",
    cert: credentials.Cert = "",
    key: credentials.Key = "",
    auth: credentials.Auth = "",
    method: credentials.Method = "",
    header: credentials.Header = None,
    body: credentials.Body = "",
    body_file: credentials.BodyFile = "",
    query: credentials.Query = None,
    option: credentials.Option = None,
    yes: Yes = False,
    wait: Wait = "0s",
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> int:
    """Load a running service for half a minute and print its highest load within the target.

    Three test requests come first: does the service answer, in which protocol, and does it need a
    password? Then load rises to the service's limit, and a search finds the highest load that keeps
    the tail within the bound. With --rates, only these loads are offered. The service is not
    changed, and no file is written. If replies take seconds, the run lasts up to 20 times as long.

    Exit codes: 0 answered, 1 no load meets the bound, 2 the target is wrong or answers wrongly,
    3 unknown: a self-check failed, 4 something outside failed, 130 stopped.

    \b
    Examples:
      sojourn try http://localhost:8080/
      sojourn try http://localhost:8080/search?q=x --bound 50ms
      sojourn try redis://localhost:6379 --preload
      sojourn try localhost:8080 --rates 500,1k,2k
    """
    inputs = credentials.job_keys(
        insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth,
        method=method, header=header, body=body, body_file=body_file, query=query,
        option=option,
    )  # fmt: skip
    study = _study(
        {"target": target, "preload": preload, **({"expect_bytes": 0} if any_length else {})},
        {"connections": connections, **inputs},
        q=quantile,
        bound=bound,
        rates=rates,
    )
    with credentials.of_target():
        at = _checked_service(target, study, is_filled=preload)
    if not (yes or rates or _is_here(at)):
        raise SpecFault(
            f"{at.where.authority} is another machine, and would be loaded as far as it goes",
            at="TARGET",
            fix="say --yes if it is yours to load, or offer less: --rates 100,200",
        )
    from sojourn import pipeline
    from sojourn.cli.ticker import Ticker
    from sojourn.questions import flat, parts
    from sojourn.report import glance
    from sojourn.run.signals import ending_in_order

    study, length_s = _stretched(study, at.proof.stretch), pipeline.GLANCE_S * at.proof.stretch
    ticker = Ticker(at.where.url, is_quiet=quiet, length_s=length_s, is_filled=preload)
    with ending_in_order(), ticker:
        result = pipeline.glance(
            study, ticker, patience=patience(wait, None, is_forced=force), length_s=length_s
        )
    service = result.services[0]
    same = qos_options.words(bound, quantile)
    same += ["--preload"] if preload else []
    following = shlex.join(["sojourn", "init", target, *same, *credentials.words(inputs)])
    if as_json:
        texts = {"sentence": glance.sentence(service, at.where.url), "next": following}
        put_json({**texts, **plain(flat(result))})
    else:
        put(glance.text(service, parts(), target=at.where.url, command=following, width=width()))
    return _EXITS[str(result.verdict)]


def _study(
    params: Mapping[str, Any], load: Mapping[str, Any], *, q: float, bound: str, rates: str
) -> Study:
    """The study behind it; SpecFault for options that are none."""
    from sojourn.spec import own

    asked = [part.strip() for part in rates.split(",") if part.strip()]
    with qos_options.refused():
        return own.glance(params, load, q=q, bound=bound, rates=asked)


def _stretched(study: Study, stretch: float) -> Study:
    """The same, lasting as long as its service needs."""
    services = tuple(one.model_copy(update={"stretch": stretch}) for one in study.services)
    return study.model_copy(update={"services": services})


def _checked_service(target: str, study: Study, *, is_filled: bool) -> External:
    """The service, asked three times, before anything else is loaded or locked.

    Raises:
        SpecFault, HostFault: it is not there, or not as it should be.
    """
    from sojourn.run import waits
    from sojourn.services.kind import Allowance
    from sojourn.services.own import asked, external
    from sojourn.services.own.first_tries import CUT

    spec = study.services[0]
    allowance = Allowance(cpus=1, memory_bytes=0)
    params = {name: value for name, value in spec.params.items() if not isinstance(value, tuple)}
    service = external.build(params, allowance).adapted(spec.load, waits.of_study(spec))
    if service.where.scheme in asked.KEYS and not is_filled:
        raise SpecFault(
            f"{target} is a key-value store, and does not hold the keys that are asked for",
            at="TARGET",
            fix="say --preload: 10,000 keys of 30 B are set to values of 200 B, 2.3 MB in all",
        )
    if cut := dict(service.proof.facts).get(CUT):
        say(f"{CUT}: {cut}; under load, a request that fails counts as infinitely late")
    return service


def _is_here(service: External) -> bool:
    from sojourn.services.own import asked

    return asked.is_here(service.where)
