"""Every command by name, with its function and its panel in the help.

A command's module is loaded when the command is asked for, or the help of all. So `sojourn ls` does
not load what a comparison needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from sojourn.cli import (  # noqa: F401 - for whoever follows imports, such as `make quick`
        calibrate_cmd,
        classify_cmd,
        compare_cmd,
        fleet_cmd,
        gate_cmd,
        history_cmd,
        init_cmd,
        install_cmd,
        judge_cmd,
        kinds,
        ls,
        machine,
        manage_cmd,
        mcp_cmd,
        models_cmd,
        noise_cmd,
        open_cmd,
        plan,
        predict_cmd,
        records,
        replicate_cmd,
        rm,
        run,
        sql,
        tco_cmd,
        try_cmd,
        view_cmd,
        whatif_cmd,
    )

BEFORE, MEASURE, AFTER, MODEL = "Before", "Measure", "After", "Model"

#: Command → its panel, module and function, in the order of the help.
VERBS: Mapping[str, tuple[str, str, str]] = {
    "try": (BEFORE, "try_cmd", "try_"),
    "init": (BEFORE, "init_cmd", "init"),
    "doctor": (BEFORE, "machine", "doctor"),
    "noise": (BEFORE, "noise_cmd", "noise"),
    "kinds": (BEFORE, "kinds", "kinds"),
    "install": (BEFORE, "install_cmd", "install"),
    "check": (BEFORE, "plan", "check"),
    "plan": (BEFORE, "plan", "plan"),
    "run": (MEASURE, "run", "run"),
    "compare": (MEASURE, "compare_cmd", "compare"),
    "gate": (MEASURE, "gate_cmd", "gate"),
    "judge": (MEASURE, "judge_cmd", "judge"),
    "manage": (MEASURE, "manage_cmd", "manage"),
    "restore": (MEASURE, "machine", "restore"),
    "ls": (AFTER, "ls", "ls"),
    "show": (AFTER, "records", "show"),
    "report": (AFTER, "records", "write"),
    "history": (AFTER, "history_cmd", "history"),
    "sql": (AFTER, "sql", "sql"),
    "view": (AFTER, "view_cmd", "view"),
    "mcp": (AFTER, "mcp_cmd", "mcp"),
    "open": (AFTER, "open_cmd", "open_"),
    "rm": (AFTER, "rm", "rm"),
}
#: The same of what is computed or simulated.
MODELS: Mapping[str, tuple[str, str, str]] = {
    "predict": (MODEL, "predict_cmd", "predict"),
    "whatif": (MODEL, "whatif_cmd", "whatif"),
    "tco": (MODEL, "tco_cmd", "total_cost"),
    "provision": (MODEL, "models_cmd", "provision"),
    "fleet": (MODEL, "fleet_cmd", "fleet"),
    "calibrate": (MODEL, "calibrate_cmd", "calibrate"),
    "classify": (MODEL, "classify_cmd", "classify"),
    "replicate": (MODEL, "replicate_cmd", "replicate"),
}
COMMANDS = {**VERBS, **MODELS}


def add(app: typer.Typer, names: Iterable[str], help_of: Callable[[str], str]) -> None:
    """Load some commands and add them.

    Args:
        app: gets them, in the order of `names`.
        names: of commands.
        help_of: makes a command's help of its docstring.
    """
    for name in names:
        panel, module, function = COMMANDS[name]
        answer: Any = getattr(import_module(f"sojourn.cli.{module}"), function)
        text = help_of(answer.__doc__ or "")
        app.command(name, rich_help_panel=panel, help=text)(answer)
