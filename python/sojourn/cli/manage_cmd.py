"""`sojourn manage`: keep services within their targets beside best-effort work."""

from __future__ import annotations

import contextlib
import gc
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sojourn.cli.faults import drop_stdout
from sojourn.cli.plain import put
from sojourn.errors import RunFault, SpecFault

if TYPE_CHECKING:
    from sojourn.manage.config import Config

_REPLAY = "Replay"
GARBAGE_MAX = 20_000  # objects more than before, until those in circles are looked for


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
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Answer Prometheus at http://ADDRESS/metrics; a port alone is one of loopback.",
            show_default=False,
        ),
    ] = "",
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print a unit for systemd, and end.")
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
    manager dies or is paused, best-effort groups get their safe caps. Without a terminal, SIGHUP
    reloads the configuration.

    \b
    Examples:
      sojourn manage --config web.toml --dry-run
      sojourn manage --config web.toml --once
      sudo sojourn manage --config web.toml --listen 127.0.0.1:9123
      sojourn manage --config web.toml --systemd > sojourn-manage.service
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
    checked = configs.read(config)
    if listen:
        from sojourn.manage.metrics import parsed

        parsed(listen)
    if systemd:
        from sojourn.manage.systemd import unit

        put(unit(config, checked, listen).rstrip("\n"))
    elif once:
        _once(checked)
    else:
        _manage(config, checked, is_dry=dry_run, listen=listen)


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


def _once(config: Config) -> None:
    from sojourn.manage.audit import Audit
    from sojourn.manage.daemon import Manager, explained

    put(explained(*Manager(config, Audit(None, _silent), None).once()))


def _manage(path: Path, config: Config, *, is_dry: bool, listen: str) -> None:
    from sojourn.manage import config as configs
    from sojourn.manage.audit import Audit
    from sojourn.manage.daemon import Manager
    from sojourn.manage.metrics import Listener, Metrics
    from sojourn.manage.reload import Asked, asked_by_hangup
    from sojourn.run import restore
    from sojourn.run.journal import Journal
    from sojourn.run.signals import Interrupted, ending_in_order

    asked = Asked()
    # From the start on, because SIGHUP ends a program that does not listen to it yet, and a unit
    # may be reloaded at once. An interruption ends it well: all is put back by then.
    with (
        contextlib.suppress(Interrupted),
        ending_in_order(),
        asked_by_hangup(asked.ask),
        contextlib.ExitStack() as stack,
    ):
        audit = Audit(Path(config.audit) if config.audit else None, _show)
        stack.callback(audit.close)
        metrics = None
        if listen:
            metrics = Metrics(config.controller)
            listener = Listener(listen, metrics)
            stack.callback(listener.close)
            audit.say("listen", url=listener.url)
        if not is_dry:
            for undone in restore():
                audit.say("restored", what=undone.what, how=undone.how)
        journal = None if is_dry else stack.enter_context(contextlib.closing(Journal.create()))
        manager = Manager(config, audit, journal, metrics=metrics, asked=asked)
        manager.fresh = lambda: configs.read(path, is_again=True)
        gc.freeze()  # what was imported stays: it need not be looked through again and again
        gc.set_threshold(GARBAGE_MAX)  # a look has few parts in a circle, and makes many parts
        manager.run()


def _silent(line: Mapping[str, Any]) -> None:
    del line


def _show(line: Mapping[str, Any]) -> None:
    try:
        put(json.dumps(line, ensure_ascii=False))
    except OSError as error:
        drop_stdout()
        raise RunFault(  # a pipe without a reader would end the manager as if all were well
            f"the log cannot be written to standard output: {error.strerror}",
            at="sojourn manage",
            fix="name audit = FILE in the configuration, and send standard output to /dev/null",
        ) from None
