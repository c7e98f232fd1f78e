"""`sojourn doctor` and `sojourn restore`: the machine itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.draw import escape, named, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import AsJson
from sojourn.cli.plain import put_json
from sojourn.errors import Exit

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.host import Placement
    from sojourn.host.culprits import Sight
    from sojourn.host.preflight import Look

CULPRITS_MAX = 8
WatchS = Annotated[
    float,
    typer.Option(
        "--watch-s",
        metavar="SECONDS",
        min=0,
        max=600,
        help="How long to watch the CPUs that a server would get. 0: skip this.",
    ),
]
RestoreHosts = Annotated[
    str | None,
    typer.Option(
        "--hosts",
        metavar="CLUSTER",
        help="Undo it on the other nodes of this Ray cluster too: ray://HOST:10001, HOST:6379 or "
        "auto.",
    ),
]

_MARKS = {"high": "[red]high[/]", "low": "[yellow]low[/]", "note": "[dim]note[/]"}


def doctor(watch_s: WatchS = 2.0, as_json: AsJson = False) -> None:
    """Show what this machine can and cannot measure, what adds noise, and how to fix it.

    Nothing is changed. The score is 0 for a quiet machine and 100 for a machine whose numbers mean
    little. For some seconds it watches the CPUs that a server would get, and shows which other
    tasks use them and for how long. What happens every few seconds needs a longer --watch-s.

    \b
    Examples:
      sojourn doctor
      sojourn doctor --watch-s 20
      sojourn doctor --json | jq .score
    """
    from sojourn import host
    from sojourn.host import culprits
    from sojourn.host.diagnosis import LOOK_S
    from sojourn.host.preflight import look, summary
    from sojourn.host.tree import cpu_text

    say("reading what this machine is")
    facts = host.read()
    placement = host.place(facts.topology)
    if not as_json:
        _placed(to_stdout(), placement)
    sight = seen = None
    if watch_s:
        say(f"watching who runs on CPU {cpu_text(placement.server)} for {LOOK_S:g} s")
        sight = culprits.look(placement.server, LOOK_S)
        say(f"watching what stops a server there for {watch_s:g} s")
        seen = look(placement.server, watch_s)
    report = host.doctor(facts, sight, seen)
    if as_json:
        put_json({"report": report, "placement": placement, "stops": seen and summary(seen)})
        return
    console = to_stdout()
    console.print(f"\n[bold]noise[/] {report.score} of 100: {report.label}")
    table = new_table(has_head=False)
    for finding in report.findings:
        table.add_row(_MARKS[finding.severity], escape(finding.what))
        table.add_row("", f"[dim]{escape(finding.effect)}[/]")
        if finding.fix:
            table.add_row("", f"fix: {escape(finding.fix)}")
    console.print(table)
    if report.sight:
        _culprits(console, report.sight)
    if seen:
        _stops(console, seen)
    console.print("\n[bold]abilities[/]")
    table = new_table(has_head=False)
    for ability in report.abilities:
        mark = "[green]yes[/]" if ability.can else "[red]no[/]"
        lacks = f"lacks {escape(ability.missing)}" if ability.missing else ""
        table.add_row(mark, escape(ability.name), lacks)
        if ability.fix:
            table.add_row("", "", f"[dim]fix: {escape(ability.fix)}[/]")
    console.print(table)


def _placed(console: Console, placement: Placement) -> None:
    """Where server and client would run."""
    console.print(f"[bold]placement[/] {escape(placement.text)}")
    for shared in placement.shared:
        console.print(f"  {escape(shared.what)}: [dim]{escape(shared.effect)}[/]")


def _stops(console: Console, seen: Look) -> None:
    """How long a server would be kept from its CPUs, and what that does to an answer."""
    from sojourn.host.preflight import Target

    target = Target()
    console.print(f"\n[bold]the server's CPUs[/] {escape(seen.seen(target))}")
    console.print(f"  without a shield: [dim]{escape(seen.effect(target))}[/]")
    if seen.is_watched and seen.machine is not None:
        shielded = seen.effect(target, is_shielded=True)
        console.print(f"  with one: [dim]{escape(shielded)}[/]")


def _culprits(console: Console, sight: Sight) -> None:
    """Who ran where a service would."""
    from sojourn.host.culprits import SCHEDULER
    from sojourn.host.tree import cpu_text

    where = f"on CPU {cpu_text(sight.cpus)} in {sight.seconds:.2g} s"
    console.print(f"\n[bold]who runs where a service would[/], {where}")
    is_exact = sight.source == SCHEDULER
    if not is_exact:
        console.print(f"  from /proc, so only what can be at most: {escape(sight.why)}")
    table = new_table("task")
    for head in ("thread", "over 0.3 ms, per s", "longest, ms", "share"):
        table.add_column(head, justify="right")
    for culprit in sight.culprits[:CULPRITS_MAX]:
        longest = "" if culprit.longest_ns is None else f"{culprit.longest_ns / 1e6:.3g}"
        most = "" if is_exact else "<= "
        table.add_row(
            named(culprit.name) + (" [dim](kernel)[/]" if culprit.is_kernel else ""),
            str(culprit.tid),
            f"{most}{culprit.long_runs_per_s:.3g}",
            longest,
            f"{culprit.share:.2%}",
        )
    console.print(table)
    if len(sight.culprits) > CULPRITS_MAX:
        console.print(f"  and {len(sight.culprits) - CULPRITS_MAX} more")


def restore(hosts: RestoreHosts = None, as_json: AsJson = False) -> int:
    """Undo what a killed run left behind: servers, files, changed settings. Safe at any time.

    With --hosts, the nodes of a Ray cluster do the same with what was left on them.

    \b
    Examples:
      sojourn restore
      sojourn restore --hosts 10.0.0.1:6379
    """
    from sojourn import run

    undone: list[Any] = [*run.restore()]
    if hosts is not None:
        from sojourn.hosts import undo

        undone += undo.of_cluster(hosts)
    if as_json:
        put_json(undone)
    elif not undone:
        to_stdout().print("nothing was left behind")
    else:
        for one in undone:
            where = f"{one.host}: " if hasattr(one, "host") else ""
            to_stdout().print(escape(f"{where}{one.what}: {one.how}"), soft_wrap=True)
    return Exit.OK if all(one.is_done for one in undone) else Exit.FAILED
