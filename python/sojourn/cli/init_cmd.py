"""`sojourn init`: a study file about the user's own service."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli import credentials, named_file, own_target, qos_options, slow_reply
from sojourn.cli.faults import say
from sojourn.cli.plain import put
from sojourn.errors import SpecFault
from sojourn.units import NS_PER_S, parse_ns
from sojourn.visible import in_line

if TYPE_CHECKING:
    from sojourn.services.own.external import External

FIRST_S = 15.0  # how long a bound `init` takes for possible: it is not told one
MaybeTarget = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        show_default=False,
        help="A running service: a URL, host:port or the path of a unix socket.",
    ),
]
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
Requests = Annotated[
    str,
    typer.Option(
        "--target",
        metavar="URL",
        help="What a command's service is asked, such as 'memcache://{host}:{port}' or "
        "'http://{host}:{port}/search?q=x'.",
        show_default="http://{host}:{port}/",
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
    requests: Requests = "",
    bound: qos_options.Bound = "",
    quantile: qos_options.Quantile = qos_options.USUAL_Q,
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
    preload: credentials.Preload = False,
    out: Out = "",
    force: Over = False,
) -> None:
    """Write a study file about your own service, with comments on every important key.

    A target gets three test requests, so that the file fits it. A command is not started.

    \b
    Examples:
      sojourn init http://localhost:8080/ --bound 50ms
      sojourn init --command "python3 app.py --port {port}" -o app.toml
      sojourn init --command "kv --port {port}" --target 'redis://{host}:{port}'
    """
    from sojourn.services.own.asked import KEYS
    from sojourn.spec import own

    if bool(target) == bool(command):
        raise SpecFault(
            "init wants a service: one that runs, or a command that starts it",
            at="sojourn init",
            fix="give http://localhost:8080/, or --command 'python3 app.py --port {port}'",
        )
    if requests and not command:
        raise SpecFault(
            "it says what a command's service is asked, and no command is given",
            at="--target",
            fix="leave it out: a service that runs is asked as its address is typed",
        )
    if requests:
        own_target.check(requests, at="--target")
    with qos_options.refused():
        qos = own.qos_lines(quantile, bound)
    facts: tuple[tuple[str, str], ...] = ()
    stretch = 1.0
    inputs = credentials.job_keys(
        insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth,
        method=method, header=header, body=body, body_file=body_file, query=query,
        option=option,
    )  # fmt: skip
    name = own.name_of(Path(shlex.split(command)[0]).name if command else target or "")
    if out and out != "-":
        name = own.name_of(Path(out).stem)
    if target:
        with credentials.of_target():
            service = _asked(target, inputs, bound)
        facts, target, stretch = _facts(service), service.where.url, service.proof.stretch
        has_items = service.where.scheme in KEYS
    else:
        has_items = _check_command(command, requests)
    text = own.written(
        name=name,
        target=target or requests,
        command=command,
        has_items=has_items,
        facts=facts,
        stretch=stretch,
        qos=qos,
        is_filled=preload,
        load={key: credentials.toml(value) for key, value in inputs.items()},
    )
    if has_items and target and not preload:
        say(
            "note: the study writes no keys into your service, and its requests are for keys of "
            "the test: without them each run fails. To write them first, give --preload"
        )
    if out == "-":
        put(text, has_end=False)
        return
    path = Path(out or f"{name}.toml")
    _write(path, text, is_over=force)
    put(str(path))
    say(f"next: sojourn plan {path} --profile quick, then sojourn run {path} --profile quick")


def _write(path: Path, text: str, *, is_over: bool) -> None:
    """Write the study; over another file only where that is wanted, and by no planted link."""
    if is_over:
        named_file.write(path, text)
        return
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        fix = "give another name with -o, or --force"
        raise SpecFault(f"{path} is there already", at=str(path), fix=fix) from None
    except OSError as error:
        fix = "give another file with -o, or - for stdout"
        raise SpecFault(f"it cannot be written: {error.strerror}", at=str(path), fix=fix) from None


def _asked(target: str, inputs: Mapping[str, credentials.JobValue], bound: str) -> External:
    """A service that was asked three times, with what was given for it.

    Args:
        target: as it was typed.
        inputs: keys of the generator's job.
        bound: of the QoS target, which says how long a reply may take; "": it is not known.
    """
    from sojourn.services.kind import Allowance
    from sojourn.services.own import asked, external, first_replies

    allowance = Allowance(cpus=1, memory_bytes=0)
    bound_s = parse_ns(bound) / NS_PER_S if bound else FIRST_S
    within_s = max(first_replies.REPLY_S, asked.BOUNDS * bound_s)
    with slow_reply.noted(target, within_s, bound):
        return external.build({"target": target}, allowance).adapted(inputs, bound_s)


def _facts(service: External) -> tuple[tuple[str, str], ...]:
    """What it reported when it was asked, and where its processes are."""
    from sojourn.services.kind import RUNS_ON
    from sojourn.services.own.external import AmbiguousFault

    try:
        seen = service.process()
        its = [("processes", f"the first is {seen.pid}")] if seen else []
    except AmbiguousFault as fault:  # it can be measured, so the study is written
        its = [("processes", f"{fault.what}. Fix: {fault.fix}")]
    rows = [row for row in service.setup() if row[0] not in {RUNS_ON, "target"}]
    return tuple((what, in_line(how)) for what, how in (*rows, *its))


def _check_command(command: str, requests: str) -> bool:
    """Refuse what could never run, or never be asked; whether it has items."""
    from sojourn.services.kind import Allowance
    from sojourn.services.own import command as commands

    inputs = {"argv": command, **({"target": requests} if requests else {})}
    service = commands.build(inputs, Allowance(cpus=1, memory_bytes=1 << 30))
    return isinstance(service, commands.Command) and service.asked.is_preloaded
