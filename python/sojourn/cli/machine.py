"""`sojourn doctor` and `sojourn restore`: the machine itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sojourn.cli.options import AsJson
from sojourn.cli.plain import put_json
from sojourn.errors import Exit

if TYPE_CHECKING:
    from sojourn.host.culprits import Sight

CULPRITS_MAX = 8
_MARKS = {"high": "[red]high[/]", "low": "[yellow]low[/]", "note": "[dim]note[/]"}


def doctor(as_json: AsJson = False) -> None:
    """Say what this machine can measure, what it cannot, and what adds noise, each with its mend.

    Nothing is changed. The score is 0 for a quiet machine, 100 for one whose numbers mean little.

    \b
    Examples:
      sojourn doctor
      sojourn doctor --json | jq .score
    """
    from sojourn import host
    from sojourn.host import culprits
    from sojourn.host.doctor import LOOK_S

    facts = host.read()
    placement = host.place(facts.topology)
    found = host.doctor(facts, culprits.look(placement.server, LOOK_S))
    if as_json:
        put_json({"report": found, "placement": placement})
        return
    console = Console(highlight=False)
    console.print(f"[bold]noise[/] {found.score} of 100: {found.label}")
    table = Table(box=None, pad_edge=False, show_header=False)
    for finding in found.findings:
        table.add_row(_MARKS[finding.severity], escape(finding.what))
        table.add_row("", f"[dim]{escape(finding.effect)}[/]")
        if finding.mend:
            table.add_row("", f"mend: {escape(finding.mend)}")
    console.print(table)
    console.print(f"\n[bold]placement[/] {escape(placement.text)}")
    for shared in placement.shared:
        console.print(f"  {escape(shared.what)}: [dim]{escape(shared.effect)}[/]")
    if found.sight:
        _culprits(console, found.sight)
    console.print("\n[bold]abilities[/]")
    table = Table(box=None, pad_edge=False, show_header=False)
    for ability in found.abilities:
        mark = "[green]yes[/]" if ability.can else "[red]no[/]"
        lacks = f"lacks {escape(ability.missing)}" if ability.missing else ""
        table.add_row(mark, escape(ability.name), lacks)
        if ability.mend:
            table.add_row("", "", f"[dim]mend: {escape(ability.mend)}[/]")
    console.print(table)


def _culprits(console: Console, sight: Sight) -> None:
    """Who ran where a service would."""
    from sojourn.host.culprits import SCHEDULER
    from sojourn.host.tree import cpu_text

    where = f"on CPU {cpu_text(sight.cpus)} in {sight.seconds:.2g} s"
    console.print(f"\n[bold]who runs where a service would[/], {where}")
    is_exact = sight.source == SCHEDULER
    if not is_exact:
        console.print(f"  from /proc, so only what can be at most: {escape(sight.why)}")
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("task")
    for head in ("thread", "over 0.3 ms, per s", "longest, ms", "share"):
        table.add_column(head, justify="right")
    for culprit in sight.culprits[:CULPRITS_MAX]:
        longest = "" if culprit.longest_ns is None else f"{culprit.longest_ns / 1e6:.3g}"
        most = "" if is_exact else "<= "
        table.add_row(
            escape(culprit.name) + (" [dim](kernel)[/]" if culprit.is_kernel else ""),
            str(culprit.tid),
            f"{most}{culprit.long_runs_per_s:.3g}",
            longest,
            f"{culprit.share:.2%}",
        )
    console.print(table)
    if len(sight.culprits) > CULPRITS_MAX:
        console.print(f"  and {len(sight.culprits) - CULPRITS_MAX} more")


def restore(as_json: AsJson = False) -> int:
    """Undo what a killed lab left behind: servers, files, what it moved. Safe at any time.

    \b
    Examples:
      sojourn restore
    """
    from sojourn import run

    undone = run.restore()
    if as_json:
        put_json(undone)
    elif not undone:
        Console(highlight=False).print("nothing was left behind")
    else:
        for one in undone:
            Console(highlight=False).print(f"{escape(one.what)}: {escape(one.how)}")
    return Exit.OK if all(one.is_done for one in undone) else Exit.FAILED
