"""`sojourn install`: fetches what the lab can use and no package manager need install."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.draw import escape, new_table, to_stdout
from sojourn.cli.faults import say
from sojourn.cli.options import AsJson
from sojourn.cli.plain import put, put_json
from sojourn.errors import SpecFault
from sojourn.units import show_bytes

if TYPE_CHECKING:
    from sojourn.install import Made, Part

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="What to fetch. Without a name: list all.", show_default=False
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
Again = Annotated[bool, typer.Option("--again", help="Fetch and make it again even if present.")]


def install(
    name: Name = None, yes: Yes = False, again: Again = False, as_json: AsJson = False
) -> None:
    """Download or build what some places and services need, after showing sizes and asking.

    Packages come from this machine's apt sources and are verified by signatures and pinned hashes.
    They are unpacked below ~/.cache/sojourn (SOJOURN_CACHE) for Sojourn alone. Nothing is
    installed on the machine. Services are compiled from these packages, and their data is made from
    them and from texts of this machine. What is complete and current is not fetched again; --again
    does so.

    \b
    Examples:
      sojourn install                 # what can be fetched, what is present
      sojourn install vm --yes        # a guest kernel for virtual machines
      sojourn install xapian          # a search service: about 2 MB, a minute
      sojourn install shore           # PostgreSQL for the service shore
      sojourn install specjbb --yes   # the Java service, and a JDK if needed
      sojourn install media_streaming # films, made by ffmpeg
    """
    from sojourn import install as parts

    if name is None:
        _show(tuple(parts.KINDS.values()), as_json=as_json)
        return
    part = parts.part(name)
    result = part.made()
    if result is not None and not again and not result.wrong():
        _print_part(part, result, "is there", as_json=as_json)
        return
    say(f"{name}: {part.about}{'; asking apt' if part.debs else ''}")
    offered = parts.offers(part)
    for one in offered:
        say(f"  {one.deb.package}: {show_bytes(one.bytes)} to download")
    if not offered and not part.made_bytes:
        say("  nothing to download: this machine has what it takes")
    _refuse_without(part)
    total = sum(one.bytes for one in offered)
    verb, size = ("make", part.made_bytes) if part.made_bytes else ("download", total)
    what = f"{verb} {show_bytes(size)}"
    if size and not yes:
        if not sys.stdin.isatty():
            raise SpecFault(
                f"this needs a confirmation to {what}, and there is no terminal to ask on",
                at=f"sojourn install {name}",
                fix="give --yes",
            )
        typer.confirm(f"{what}?", abort=True, err=True)
    if part.builds:
        say(f"{name}: downloading, then making it, which takes a minute or two")
    _print_part(part, parts.fetch(part, offered), "kept", as_json=as_json)


def _print_part(part: Part, made: Made, how: str, *, as_json: bool) -> None:
    """Say what is there, how much of it, and what still lacks."""
    name = part.name
    size = sum((made.at / file).stat().st_size for file in made.files)
    if as_json:
        put_json({"name": name, "at": made.at, "bytes": size, "files": made.files, **made.facts})
    else:
        put(str(made.at))
    message = ", ".join(f"{what} {text}" for what, text in made.facts.items())
    say(f"{name}: {how}, {show_bytes(size)} in {len(made.files)} files ({message})")
    for lack in _lacks(part):
        say(f"still missing: {lack}")


def _refuse_without(part: Part) -> None:
    """Say how much is made here; refuse it where what makes it is missing."""
    from sojourn import programs

    if not part.made_bytes:
        return
    say(f"  made here, on one CPU for a minute or so: about {show_bytes(part.made_bytes)}")
    for program, package in part.needs.items():
        programs.find(program, fix=f"apt install {package}")


def _lacks(part: Part) -> list[str]:
    """Programs that it is used with and that are not here, with what installs each."""
    from sojourn import programs

    return [
        f"{program} (apt install {package})"
        for program, package in {**part.needs, **part.builds}.items()
        if programs.maybe(program) is None
    ]


def _show(parts: tuple[Part, ...], *, as_json: bool) -> None:
    rows = [
        {
            "name": part.name,
            "about": part.about,
            "version": part.version,
            "is_installed": part.made() is not None,
            "missing": _lacks(part),
        }
        for part in parts
    ]
    if as_json:
        put_json(rows)
        return
    table = new_table("name")
    table.add_column("installed")
    table.add_column("what it is")
    for row in rows:
        missing = "".join(f"; missing: {lack}" for lack in row["missing"])  # type: ignore[attr-defined]
        table.add_row(
            str(row["name"]),
            "yes" if row["is_installed"] else "no",
            escape(f"{row['about']}{missing}"),
        )
    to_stdout().print(table)
