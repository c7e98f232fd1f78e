"""`sojourn kinds`: everything that has a name in a study, from the tables that define it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.draw import escape, to_stdout
from sojourn.cli.options import AsJson
from sojourn.cli.plain import put_json, put_page
from sojourn.errors import SpecFault
from sojourn.text.plain_values import plain

if TYPE_CHECKING:
    from rich.console import Console

    from sojourn.controllers import ControllerKind

Kinds = Mapping[str, Sequence[Mapping[str, Any]]]


def kinds(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Show one kind or table in full.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List services, questions, arrivals, protocols, methods and others with their parameters.

    \b
    Examples:
      sojourn kinds
      sojourn kinds memcached
      sojourn kinds arrivals --json
    """
    if as_json:
        put_json(_known() if name is None else _only(_known(), name))
        return
    console = to_stdout()
    if name is None:
        put_page(_whole(console).removesuffix("\n"))
    else:
        _print(console, _only(_known(), name), is_full=True)


def _whole(console: Console) -> str:
    """All kinds as this terminal shows them: to lay out some hundred rows takes time."""
    from sojourn.disk import cache
    from sojourn.store import answers

    look = (console.width, console.is_terminal, console.color_system, console.no_color)
    key = f"kinds {look} {console.encoding} {console.is_dumb_terminal}\n{answers.code()}"
    text = cache.load(key)
    if text is None:
        with console.capture() as drawn:
            _print(console, _known(), is_full=False)
        text = drawn.get().encode(errors="surrogateescape")
        cache.keep(key, text)
    return text.decode(errors="surrogateescape")


def _print(console: Console, tables: Kinds, *, is_full: bool) -> None:
    for title, rows in tables.items():
        console.print(f"[bold]{title}[/]")
        for row in rows:
            _show(console, row, is_full=is_full)
        console.print()


def _known() -> Kinds:
    """The catalogue as this code has it: it is made once, because every part has to be loaded."""
    from sojourn.disk import cache
    from sojourn.store import answers

    key = f"kinds\n{answers.code()}"
    text = cache.load(key)
    if text is None:
        text = json.dumps(plain(catalogue())).encode()
        cache.keep(key, text)
    tables: Kinds = json.loads(text)
    return tables


def catalogue() -> Kinds:
    """Table → its kinds, in reading order."""
    from sojourn import analysis
    from sojourn.controllers import KINDS as CONTROLLERS
    from sojourn.questions import PLANS, answers
    from sojourn.spec import PROFILES
    from sojourn.spec.kinds import schema

    native = schema("load-kinds") or {"tables": []}
    traced = schema("trace-kinds") or {"tables": []}
    known = {table["name"] for table in native["tables"]}
    simulated = (schema("sim-kinds") or {"tables": []})["tables"]
    profiles = [
        {
            "name": name,
            "about": f"{run.measure_s:g} s a point, {run.repeats} repeats, "
            f"{run.search.budget_s:g} s of search",
        }
        for name, run in PROFILES.items()
    ]
    asked = [
        {"name": one.name, "about": one.about, "needs": [f"[services.{t}]" for t in one.tables]}
        for one in PLANS.values()
    ]
    of_questions = (method for kind in answers().values() for method in kind.methods)
    methods = [plain(method) for method in (*analysis.KINDS, *of_questions)]
    return {
        **(schema("kinds") or {"services": []}),
        "questions": asked,
        **{table["name"]: table["kinds"] for table in native["tables"]},
        **{table["name"]: table["kinds"] for table in traced["tables"]},
        "controllers": [_controller(one) for one in CONTROLLERS.values()],
        "profiles": profiles,
        "methods": methods,
        # What the simulator shares with the generator is listed once.
        **{
            f"simulated {table['name']}": table["kinds"]
            for table in simulated
            if table["name"] not in known
        },
    }


def _controller(one: ControllerKind) -> Mapping[str, Any]:
    """A controller of `sojourn manage`, with its constants as parameters."""
    from sojourn.controllers import NEEDS

    params = [
        {"name": name, "about": "", "default": value, "unit": ""}
        for name, value in one.constants.items()
    ]
    needs = [NEEDS[name][0] for name in one.needs]
    about = {"name": one.name, "about": one.about, "needs": needs, "source": one.source}
    return {**about, "params": params}


def _only(tables: Kinds, name: str) -> Kinds:
    from sojourn.text.near import near

    if name in tables:
        return {name: tables[name]}
    results = {
        title: [row for row in rows if row["name"] == name]
        for title, rows in tables.items()
        if any(row["name"] == name for row in rows)
    }
    if not results:
        known = [*tables, *(row["name"] for rows in tables.values() for row in rows)]
        meant = near(name, known)
        raise SpecFault(
            f"there is no kind '{name}'",
            at="sojourn kinds",
            fix=f"did you mean {' or '.join(meant)}?" if meant else "see `sojourn kinds`",
        )
    return results


def _show(console: Console, row: Mapping[str, Any], *, is_full: bool) -> None:
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=16, no_wrap=True)
    table.add_column()
    table.add_row(f"  {row['name']}", escape(str(row["about"])))
    if is_full:
        for key in ("usage", "level", "needs", "source", "ids"):
            value = row.get(key)
            if value:
                text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
                table.add_row(f"  [dim]{key}[/]", escape(str(text)))
    console.print(table)
    params = row.get("params") or ()
    if is_full and params:
        table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
        for name in ("parameter", "default", "range", "unit", "about"):
            table.add_column(name, overflow="fold")
        for param in params:
            cells = (param.get(key, "") for key in ("name", "default", "range", "unit", "about"))
            table.add_row(*(escape(str(cell)) for cell in cells))
        console.print(table)
