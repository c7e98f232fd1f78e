"""Loads every module of some copies of the package, plans every study, finds and reports one.

Each copy has a process of its own, forked when what is not the lab's is loaded already. Prints a
line of JSON for each: its folder, what went wrong ("" if nothing did), and the keys of its studies.

Arguments: the folders of the copies.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import sys
import traceback
from pathlib import Path

# fmt: off
OTHERS = ("altair", "duckdb", "hdrh.histogram", "jinja2", "mcp.server.mcpserver",
          "pyarrow.parquet", "pydantic.main", "pyroute2", "rich.console", "rich.progress",
          "scipy.optimize", "scipy.stats", "starlette.applications", "statistics",
          "statsmodels.api", "tomli_w", "tomllib", "typer", "uvicorn.supervisors", "vl_convert")
# fmt: on


def main() -> None:
    """Each copy in turn."""
    for name in OTHERS:
        importlib.import_module(name)
    gc.disable()  # modules and classes stay: to look for garbage among them takes longest
    for folder in sys.argv[1:]:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            with os.fdopen(write, "w") as stream:
                stream.write(json.dumps(_looked(Path(folder))))
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as stream:
            text = stream.read()
        _, status = os.waitpid(child, 0)
        table = json.loads(text) if status == 0 else [f"status {status}: {text}", []]
        print(json.dumps([folder, *table]))


def _looked(folder: Path) -> tuple[str, list[str]]:
    """What went wrong, and the keys that a study file may have."""
    keys: list[str] = []
    try:
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            keys = look(folder)
    except BaseException:  # noqa: BLE001  # whatever it is, the test is to say it
        return traceback.format_exc(), keys
    return "", keys


def look(folder: Path) -> list[str]:
    """Import all of a copy, and ask what is left of it; the keys of its study files."""
    package = folder / "python" / "sojourn"
    sys.path.insert(0, str(package.parent))
    for path in sorted(package.rglob("*.py")):
        if path.name != "__main__.py":
            parts = path.relative_to(package.parent).with_suffix("").parts
            importlib.import_module(".".join(part for part in parts if part != "__init__"))
    from sojourn import analysis, questions, report, spec  # noqa: PLC0415  # of the copy
    from sojourn.findings.measured import Measured, StudyData  # noqa: PLC0415
    from sojourn.plan.rehearsal import imagine  # noqa: PLC0415
    from sojourn.plan.simulated import play  # noqa: PLC0415

    assert Path(spec.__file__).is_relative_to(folder)
    asked = [
        spec.load(name, profile="quick", asks=questions.PLANS.mistakes) for name in spec.names()
    ]
    assert asked, "no study is left"
    for study in asked:  # each can be begun, and one is played and reported
        assert play(study, imagine, questions.PLANS, stop_after=1), study.name
    for study in asked[:1]:
        played = play(study, imagine, questions.PLANS, stop_after=40)
        measured = tuple(Measured(outcome=outcome) for outcome in played)
        data = StudyData(study=study, measured=measured, questions=questions.PLANS)
        result = analysis.study(data, questions.answers())
        assert report.text(result, questions.parts())
        assert questions.flat(result)
    form = questions.form()
    models = (form.study, form.service, form.study.model_fields["run"].annotation)
    return sorted({key for model in models for key in model.model_fields})


if __name__ == "__main__":
    main()
