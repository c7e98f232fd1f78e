"""`sojourn rm`: removes records, or only their raw requests."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.faults import say
from sojourn.cli.ls import counted, show
from sojourn.cli.options import RESULTS, AsJson, Results
from sojourn.cli.plain import put, put_json
from sojourn.errors import SpecFault, StoreFault
from sojourn.units import NS_PER_S, parse_ns, show_bytes

if TYPE_CHECKING:
    from sojourn.store import Listed

S_PER_DAY = 86_400.0

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[RECORD]...",
        help="A record's folder, its name or a part of it, as `sojourn ls` shows it.",
        show_default=False,
    ),
]
OlderThan = Annotated[
    str | None,
    typer.Option(
        "--older-than",
        metavar="TIME",
        show_default=False,
        help="Only records older than this, such as 30d or 12h. Without RECORD: all of these.",
    ),
]
Raw = Annotated[
    bool,
    typer.Option("--raw", help="Remove only the raw requests. Answer, report and SQL stay."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def rm(
    names: Names = None,
    older_than: OlderThan = None,
    raw: Raw = False,
    yes: Yes = False,
    results: Results = RESULTS,
    as_json: AsJson = False,
) -> None:
    """Remove records, after confirmation. A record that is being measured stays.

    It removes nothing outside the results folder and follows no links.

    \b
    Examples:
      sojourn rm 20260101T120000Z-a1b2
      sojourn rm --older-than 30d --raw   # keep the answers, free space
      sojourn rm latency_vs_load --older-than 30d --yes
    """
    from sojourn import store
    from sojourn.store.remove import drop_raw, remove

    chosen = choose(store.listed(results), names or (), older_than, results)
    for record in chosen:
        if record.state == "running":
            raise StoreFault(
                "this study is being measured",
                at=str(record.path),
                fix="stop it first, or wait for it to end",
            )
    size = sum(record.raw_bytes if raw else record.size_bytes for record in chosen)
    what = f"{'raw requests of ' if raw else ''}{counted(chosen)}, {show_bytes(size)}"
    if chosen and not yes:
        _ask(chosen, what)
    act = drop_raw if raw else remove
    removed: list[dict[str, object]] = []
    try:
        for record in chosen:
            freed = act(results, record.path)
            removed.append({"path": record.path, "bytes": freed})
    finally:  # where one cannot be removed, those before it are gone all the same
        if as_json:
            put_json(removed)
        else:
            for one in removed:
                put(str(one["path"]))
    say(f"removed: {what}" if chosen else "no record is that old; nothing was removed")


def _ask(chosen: Sequence[Listed], what: str) -> None:
    if not sys.stdin.isatty():
        raise SpecFault(
            f"this needs a confirmation to remove {what}, and there is no terminal to ask on",
            at="sojourn rm",
            fix="give --yes",
        )
    show(chosen)
    typer.confirm(f"remove {what}?", abort=True, err=True)


def choose(
    records: Sequence[Listed], names: Sequence[str], older_than: str | None, results: Path
) -> Sequence[Listed]:
    """The records that are meant; a name may mean several only together with an age.

    Raises:
        SpecFault: nothing is named, or a name is not clear.
        StoreFault: there is no such record.
    """
    if not names and older_than is None:
        raise SpecFault(
            "no record is named",
            at="sojourn rm",
            fix="give names as in `sojourn ls`, or --older-than",
        )
    chosen = [listed for name in names for listed in _meant(records, name, older_than, results)]
    if not names:
        chosen = list(records)
    before_s = None if older_than is None else time.time() - age_s(older_than)
    unique = {record.path: record for record in chosen}.values()
    return [r for r in unique if before_s is None or began_s(r) < before_s]


def _meant(
    records: Sequence[Listed], name: str, older_than: str | None, results: Path
) -> Sequence[Listed]:
    def report(record: Listed) -> str:
        return str(record.path.relative_to(results))

    exact = [
        r for r in records if name == r.path.name or Path(name).absolute() == r.path.absolute()
    ]
    listed = exact or [r for r in records if name and name in report(r)]
    if not listed:
        raise StoreFault(
            f"there is no record '{name}'", at=str(results.absolute()), fix="see `sojourn ls`"
        )
    if len(listed) > 1 and older_than is None:
        some = ", ".join(report(record) for record in listed[:3])
        raise SpecFault(
            f"'{name}' fits {len(listed)} records",
            at="sojourn rm",
            fix=f"name one in full, such as {some}; or add --older-than",
        )
    return listed


def began_s(record: Listed) -> float:
    """When it began, seconds since 1970; infinite where it says no time: such a record is not old.

    What is there anybody may have written: a time without a zone, or no time.
    """
    try:
        result = datetime.fromisoformat(record.started)
        return (result if result.tzinfo else result.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return math.inf


def age_s(text: str) -> float:
    """`30d`, or a time as everywhere, but with its unit: `30` is hardly meant as 30 s.

    >>> age_s("30d"), age_s("12h")
    (2592000.0, 43200.0)
    """
    days = text.strip().removesuffix("d")
    try:
        is_days = days != text.strip()
        nan = float(days) * S_PER_DAY if is_days else parse_ns(text, needs_unit=True) / NS_PER_S
    except ValueError:
        nan = math.nan
    if not 0 <= nan < math.inf:
        raise SpecFault(f"'{text}' is not a time", at="--older-than", fix="write 30d or 12h")
    return nan
