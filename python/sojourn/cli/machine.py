"""`sojourn doctor` and `sojourn restore`: the machine itself."""

from __future__ import annotations

from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.options import AsJson
from sojourn.cli.plain import put_json
from sojourn.errors import Exit

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

    facts = host.read()
    found = host.doctor(facts)
    placement = host.place(facts.topology)
    if as_json:
        put_json({"report": found, "placement": placement})
        return
    console = to_stdout()
    console.print(f"[bold]noise[/] {found.score} of 100: {found.label}")
    table = new_table(has_head=False)
    for finding in found.findings:
        table.add_row(_MARKS[finding.severity], escape(finding.what))
        table.add_row("", f"[dim]{escape(finding.effect)}[/]")
        if finding.mend:
            table.add_row("", f"mend: {escape(finding.mend)}")
    console.print(table)
    console.print(f"\n[bold]placement[/] {escape(placement.text)}")
    for shared in placement.shared:
        console.print(f"  {escape(shared.what)}: [dim]{escape(shared.effect)}[/]")
    console.print("\n[bold]abilities[/]")
    table = new_table(has_head=False)
    for ability in found.abilities:
        mark = "[green]yes[/]" if ability.can else "[red]no[/]"
        lacks = f"lacks {escape(ability.missing)}" if ability.missing else ""
        table.add_row(mark, escape(ability.name), lacks)
        if ability.mend:
            table.add_row("", "", f"[dim]mend: {escape(ability.mend)}[/]")
    console.print(table)


def restore(as_json: AsJson = False) -> int:
    """Undo what a killed lab left behind: its servers and working files. Safe at any time.

    \b
    Examples:
      sojourn restore
    """
    from sojourn import run

    undone = run.restore()
    if as_json:
        put_json(undone)
    elif not undone:
        to_stdout().print("nothing was left behind")
    else:
        for one in undone:
            to_stdout().print(f"{escape(one.what)}: {escape(one.how)}")
    return Exit.OK if all(one.is_done for one in undone) else Exit.FAILED
