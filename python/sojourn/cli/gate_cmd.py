"""`sojourn gate`: for CI, whether a change made a service worse."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli import consent, credentials, in_turn, named_file, turn_numbers
from sojourn.cli.faults import say
from sojourn.cli.options import OUTPUT_PANEL, RESULTS, AsJson, NoShield, Results
from sojourn.cli.patience import Force, Wait, patience
from sojourn.cli.plain import put, put_json
from sojourn.cli.run import EXITS, Quiet
from sojourn.cli.share import ALPHA_LEAST, share
from sojourn.errors import Exit, RunFault, SpecFault

if TYPE_CHECKING:
    from sojourn.pipeline import Done

COUNTED, TIMED = "cpu", "mean"  # what varies least, of services of ours and of others

Baseline = Annotated[
    str,
    typer.Option(
        "--baseline",
        metavar="ARGV|URL",
        help="The old service: a command that starts it ({port} is its port), or a URL.",
        show_default=False,
    ),
]
Candidate = Annotated[
    str,
    typer.Option(
        "--candidate",
        metavar="ARGV|URL",
        help="The new service, in the same form.",
        show_default=False,
    ),
]
MaxRegression = Annotated[
    str,
    typer.Option("--max-regression", metavar="SHARE", help="Increase that is allowed, such as 5%."),
]
Alpha = Annotated[
    str,
    typer.Option(
        "--alpha",
        metavar="SHARE",
        help="Chance of a false alarm, over all numbers together.",
    ),
]
Numbers = Annotated[
    str,
    typer.Option(
        "--numbers",
        metavar="NAME,NAME",
        help="What may not get worse: cpu (CPU time per request), mean, p50, p99, p99.9 (then a "
        "run has 10,000 requests at least), max_rps (requests/s of a closed loop, in a run of its "
        "own). A tail varies more, so it takes longer.",
        show_default="cpu; mean for a URL",
    ),
]
Markdown = Annotated[
    Path | None,
    typer.Option(
        "--markdown",
        metavar="FILE",
        rich_help_panel=OUTPUT_PANEL,
        help="Append the answer as Markdown, such as to $GITHUB_STEP_SUMMARY.",
    ),
]
JUnit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE", rich_help_panel=OUTPUT_PANEL, help="Write a JUnit report."
    ),
]


def gate(
    baseline: Baseline,
    candidate: Candidate,
    max_regression: MaxRegression = "5%",
    alpha: Alpha = "1%",
    numbers: Numbers = "",
    rate: in_turn.Rate = "",
    within: in_turn.Within = "10m",
    measure_s: in_turn.MeasureS = 2.0,
    connections: in_turn.Connections = 16,
    trace: in_turn.Trace = 0,
    target: in_turn.Target = "",
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
    no_shield: NoShield = False,
    yes: consent.Yes = False,
    wait: Wait = "0s",
    force: Force = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
    markdown: Markdown = None,
    junit: JUnit = None,
    quiet: Quiet = False,
) -> int:
    """For CI: did a change make the service worse by more than is allowed?

    Old and new service are measured in turn on this machine, each run from a fresh start. Nothing
    is built. After a first alarm, fresh runs must confirm it. --alpha is the chance that an equal
    service fails, however often the test looks.

    Exit codes: 0 no number is worse by more than allowed, 1 one is, confirmed by fresh runs, 2 the
    options are wrong, 3 it cannot be decided in the time: it prints what that would take, 4
    something outside failed, 130 stopped.

    \b
    Examples:
      sojourn gate --baseline './old {port}' --candidate './new {port}'
      sojourn gate --baseline 'old …' --candidate 'new …' --max-regression 10%
      sojourn gate --baseline 'old …' --candidate 'new …' --within 5m
      sojourn gate --baseline … --candidate … --target 'redis://{host}:{port}'
      sojourn gate --baseline https://a/ --candidate https://b/ --ca-file ca.pem
      sojourn gate --baseline 'old …' --candidate 'new …' --junit gate.xml
    """
    from sojourn import run

    compare: dict[str, Any] = {
        "gate": True,
        "alpha": share(alpha, "--alpha", ALPHA_LEAST, 0.5),
        "max_regression": share(max_regression, "--max-regression", takes_least=True),
        "trace": trace,
    }
    both = (("--baseline", baseline), ("--candidate", candidate))
    for at, text in both:
        if not text.strip():
            raise SpecFault("it is empty", at=at, fix="give a command or a URL")
    load = credentials.job_keys(
        insecure=insecure, ca_file=ca_file, cert=cert, key=key, auth=auth,
        method=method, header=header, body=body, body_file=body_file, query=query,
        option=option,
    )  # fmt: skip
    sides = in_turn.services(both, target, load)
    # The CPU time of a service that runs already is often not known.
    usual = TIMED if any(side["kind"] == "external" for side in sides) else COUNTED
    compare["numbers"] = turn_numbers.numbers_of(numbers, usual)
    measure_s = turn_numbers.run_s(measure_s, rate, compare["numbers"])
    compare["blocks"] = turn_numbers.blocks_in(within, 2, measure_s, compare["numbers"])
    asked = in_turn.study(
        sides,
        compare,
        name="gate",
        rate=rate,
        measure_s=measure_s,
        connections=connections,
        no_shield=no_shield,
    )
    run.refuse_others(asked, is_agreed=yes)
    in_turn.say_visible(asked, compare, results)
    options = ["--max-regression", max_regression, "--alpha", alpha]
    options += ["--numbers", ",".join(compare["numbers"])]
    options += ["--within", within, "--measure-s", f"{measure_s:g}"]
    options += ["--no-shield"] if no_shield else []
    options += [*(["--target", target] if target else []), *credentials.words(load)]
    options += ["--trace", str(trace)] if trace else []
    options += ["--connections", str(connections), *(["--rate", rate] if rate else [])]
    command = ["gate", "--baseline", baseline, "--candidate", candidate, *options]
    waits = patience(wait, None, is_forced=force)
    done = in_turn.measured(asked, results, waits, command=command, is_quiet=quiet)
    if done is None:
        return Exit.INTERRUPTED
    return _tell(done, as_json=as_json, markdown=markdown, junit=junit)


def _tell(done: Done, *, as_json: bool, markdown: Path | None, junit: Path | None) -> int:
    """Print the answer in every form that is asked for; returns the exit code."""
    from sojourn.questions import flat, forms

    made = forms(done.findings)
    if not made:
        raise RunFault(
            "no block could be measured",
            at=str(done.path),
            fix=f"see why: sojourn show {done.path}",
        )
    if markdown is not None:
        named_file.write(markdown, made["markdown"], is_more=True)
    if junit is not None:
        named_file.write(junit, made["junit"])
    if as_json:
        put_json({"record": done.path, **flat(done.findings)})
    else:
        put(made["markdown"], has_end=False)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        say(made["annotation"])
    say(f"record: {done.path}")
    return EXITS[str(done.findings.verdict)]
