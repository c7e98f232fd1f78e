"""`sojourn try` and `sojourn init`: the user's own service, first."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import credentials
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, AsJson
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.plain import put, put_json
from sojourn.errors import Exit, SpecFault
from sojourn.text.plain_values import plain

if TYPE_CHECKING:
    from sojourn.services.own.external import External
    from sojourn.spec import Study

FIRST_S = 15.0  # how long a bound `init` takes for possible: it is not told one
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
MaybeTarget = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        show_default=False,
        help="A running service: a URL, host:port or the path of a unix socket.",
    ),
]
Bound = Annotated[
    str,
    typer.Option(
        "--bound",
        metavar="TIME",
        rich_help_panel=_LOAD,
        help="QoS bound: longest allowed latency at the quantile, such as 10ms.",
        show_default="5 times the quantile at 20 % load",
    ),
]
Quantile = Annotated[
    float,
    typer.Option(
        "--quantile",
        metavar="Q",
        rich_help_panel=_LOAD,
        help="Quantile of the target; 0.99 is p99.",
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
Preload = Annotated[
    bool,
    typer.Option(
        "--preload",
        rich_help_panel=_SERVICE,
        help="memcache, RESP: first write the 10,000 keys of the test into the service.",
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
    bound: Bound = "",
    quantile: Quantile = 0.99,
    rates: Rates = "",
    connections: Connections = 16,
    preload: Preload = False,
    any_length: AnyLength = False,
    insecure: credentials.Insecure = False,
    ca_file: credentials.CaFile = "",
    cert: credentials.Cert = "",
    key: credentials.Key = "",
    auth: credentials.Auth = "",
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
    inputs = credentials.job_keys(insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth)
    study = _study(
        {"target": target, "preload": preload, **({"expect_bytes": 0} if any_length else {})},
        {"connections": connections, **inputs},
        q=quantile,
        bound=bound,
        rates=rates,
    )
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
    following = shlex.join(["sojourn", "init", target, *credentials.words(inputs)])
    if as_json:
        texts = {"sentence": glance.sentence(service, at.where.url), "next": following}
        put_json({**texts, **plain(flat(result))})
    else:
        width = min(100, shutil.get_terminal_size((80, 24)).columns)
        put(glance.text(service, parts(), target=at.where.url, command=following, width=width))
    return _EXITS[str(result.verdict)]


def _study(
    params: Mapping[str, Any], load: Mapping[str, Any], *, q: float, bound: str, rates: str
) -> Study:
    """The study behind it; SpecFault for options that are none."""
    from pydantic import ValidationError

    from sojourn.spec import own
    from sojourn.spec.faults import mistakes

    asked = [part.strip() for part in rates.split(",") if part.strip()]
    try:
        return own.glance(params, load, q=q, bound=bound, rates=asked)
    except ValidationError as error:
        key, what, fix = next(mistakes(error, {}))
        del key
        options = ("bound", "--bound"), ("q is", "--quantile"), ("", "--rates")
        at = next(option for word, option in options if word in what)
        raise SpecFault(what, at=at, fix=fix) from None


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
    return service


def _is_here(service: External) -> bool:
    from sojourn.services.own import asked

    return asked.is_here(service.where)


Command = Annotated[
    str,
    typer.Option(
        "--command",
        metavar="ARGV",
        show_default=False,
        help="Command that starts the service. Write {port} for its port. Sojourn starts and stops "
        "it.",
    ),
]
Out = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        show_default="a name from the target",
        help="The file to write. -: stdout.",
    ),
]
Over = Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")]


def init(
    target: MaybeTarget = None,
    command: Command = "",
    insecure: credentials.Insecure = False,
    ca_file: credentials.CaFile = "",
    cert: credentials.Cert = "",
    key: credentials.Key = "",
    auth: credentials.Auth = "",
    out: Out = "",
    force: Over = False,
) -> None:
    """Write a study file about your own service, with comments on every important key.

    A target gets three test requests, so that the file fits it. A command is not started.

    \b
    Examples:
      sojourn init http://localhost:8080/
      sojourn init --command "python3 app.py --port {port}" -o app.toml
    """
    from sojourn.services.own.asked import KEYS
    from sojourn.spec import own

    if bool(target) == bool(command):
        raise SpecFault(
            "init wants a service: one that runs, or a command that starts it",
            at="sojourn init",
            fix="give http://localhost:8080/, or --command 'python3 app.py --port {port}'",
        )
    facts: tuple[tuple[str, str], ...] = ()
    has_items, stretch = False, 1.0
    inputs = credentials.job_keys(insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth)
    name = own.name_of(Path(shlex.split(command)[0]).name if command else target or "")
    if out and out != "-":
        name = own.name_of(Path(out).stem)
    if target:
        service = _asked(target, inputs)
        facts, target, stretch = _facts(service), service.where.url, service.proof.stretch
        has_items = service.where.scheme in KEYS
    else:
        _check_command(command)
    text = own.written(
        name=name,
        target=target or "",
        command=command,
        has_items=has_items,
        facts=facts,
        stretch=stretch,
        load={key: json.dumps(value) for key, value in inputs.items()},
    )
    if out == "-":
        put(text, has_end=False)
        return
    path = Path(out or f"{name}.toml")
    try:
        with path.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fix = "give another name with -o, or --force"
        raise SpecFault(f"{path} is there already", at=str(path), fix=fix) from None
    except OSError as error:
        fix = "give another file with -o, or - for stdout"
        raise SpecFault(f"it cannot be written: {error.strerror}", at=str(path), fix=fix) from None
    put(str(path))
    say(f"next: sojourn plan {path} --profile quick, then sojourn run {path} --profile quick")


def _asked(target: str, inputs: Mapping[str, str | bool]) -> External:
    """A service that was asked three times, with what was given for it."""
    from sojourn.services.kind import Allowance
    from sojourn.services.own import external

    allowance = Allowance(cpus=1, memory_bytes=0)
    return external.build({"target": target}, allowance).adapted(inputs, FIRST_S)


def _facts(service: External) -> tuple[tuple[str, str], ...]:
    """What it reported when it was asked, and where its processes are."""
    from sojourn.services.kind import RUNS_ON

    seen = service.process()
    its = [("processes", f"the first is {seen.pid}")] if seen else []
    return (*(row for row in service.setup() if row[0] not in {RUNS_ON, "target"}), *its)


def _check_command(command: str) -> None:
    from sojourn.services.kind import Allowance
    from sojourn.services.own import command as commands

    commands.build({"argv": command}, Allowance(cpus=1, memory_bytes=1 << 30))
