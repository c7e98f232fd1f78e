"""`sojourn manage`: keep services within their targets beside best-effort work."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.plain import put
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.manage.config import Config

_REPLAY = "Replay"


def _names(incomplete: str) -> list[str]:
    from sojourn.controllers import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


def manage(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Groups, targets and window source (TOML).", show_default=False
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Recommend only; nothing is changed.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Show one look and its decision, and end.")
    ] = False,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Print what a controller decides at recorded looks (JSON lines).",
            rich_help_panel=_REPLAY,
            show_default=False,
        ),
    ] = None,
    controller: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Controller of a replay; see `sojourn kinds controllers`. program:COMMAND: "
            "a program that speaks JSON lines.",
            autocompletion=_names,
            rich_help_panel=_REPLAY,
            show_default=False,
        ),
    ] = "",
) -> None:
    """Keep services within their targets: watch windows, and move knobs of best-effort groups.

    Only groups that the configuration names are touched. Everything is put back at the end. If the
    manager dies or is paused, best-effort groups get their safe caps.

    \b
    Examples:
      sojourn manage --config web.toml --dry-run
      sojourn manage --config web.toml --once
      sudo sojourn manage --config web.toml
      sojourn manage --replay looks.jsonl --controller parties
    """
    if (config is None) == (replay is None):
        raise SpecFault(
            "name either --config or --replay",
            at="sojourn manage",
            fix="sojourn manage --config FILE, or --replay FILE --controller NAME",
        )
    if replay is not None:
        _replay(replay, controller)
        return
    from sojourn.manage import config as configs

    assert config is not None  # noqa: S101  # one of the two was given
    _manage(configs.read(config), is_dry=dry_run, is_once=once)


def _replay(path: Path, name: str) -> None:
    from sojourn import disk
    from sojourn.controllers import replay
    from sojourn.controllers.named import rule

    if not name:
        raise SpecFault("a replay needs --controller", at="sojourn manage", fix="--controller NAME")
    try:
        raw = disk.read_named(path, most=disk.JSON_BYTES)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise SpecFault(
            f"the looks cannot be read: {why}", at=str(path), fix="name a file of JSON lines"
        ) from None
    with rule(name, {}) as ready:
        looks = replay.looks(raw.splitlines(), str(path))
        for look, decision in replay.decisions(looks, ready):
            put(replay.as_line(look, decision))


def _manage(config: Config, *, is_dry: bool, is_once: bool) -> None:
    from sojourn.manage.audit import Audit
    from sojourn.manage.daemon import Manager, explained
    from sojourn.run import restore
    from sojourn.run.journal import Journal
    from sojourn.run.signals import Interrupted, ending_in_order

    if is_once:
        manager = Manager(config, Audit(None, _silent), None)
        put(explained(*manager.once()))
        return
    audit = Audit(Path(config.audit) if config.audit else None, _show)
    try:
        if is_dry:
            with contextlib.suppress(Interrupted), ending_in_order():
                Manager(config, audit, None).run()
            return
        for undone in restore():
            audit.say("restored", what=undone.what, how=undone.how)
        journal = Journal.create()
        try:
            with ending_in_order():
                Manager(config, audit, journal).run()
        except Interrupted:
            return  # all is put back: this is how a manager ends
        finally:
            journal.close()
    finally:
        audit.close()


def _silent(line: Mapping[str, Any]) -> None:
    del line


def _show(line: Mapping[str, Any]) -> None:
    put(json.dumps(line, ensure_ascii=False))
