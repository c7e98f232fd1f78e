"""Result files of other load tools: what they measured, and what they cannot know.

One more format is one more file and one more line here. A file is recognised by its first bytes.

    sojourn open FILE  →  read  →  Series (times, failures, facts)  →  estimates  →  report
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sojourn import kinds
from sojourn.errors import SpecFault
from sojourn.importers import (
    fortio,
    ghz,
    h2load,
    h2load_log,
    hdr_log,
    hey,
    k6_csv,
    k6_json,
    k6_summary,
    memtier,
    metriken,
    mutilate,
    mutilate_save,
    oha_csv,
    oha_json,
    oha_text,
    others,
    pgbench_aggregate,
    pgbench_log,
    ring,
    vegeta_bin,
    vegeta_csv,
    vegeta_json,
    vegeta_report,
    wrk,
    wrk2,
)
from sojourn.importers.file import File
from sojourn.importers.format import Format, Options
from sojourn.importers.series import Series
from sojourn.store import files

__all__ = ["FORMATS", "Format", "Options", "Series", "read", "recognised"]

FORMATS: Mapping[str, Format] = kinds.table(
    k6_json.FORMAT,
    k6_csv.FORMAT,
    k6_summary.FORMAT,
    wrk.FORMAT,
    wrk2.FORMAT,
    memtier.FORMAT,
    vegeta_json.FORMAT,
    vegeta_csv.FORMAT,
    vegeta_report.FORMAT,
    vegeta_bin.FORMAT,
    hey.FORMAT,
    ghz.FORMAT,
    h2load.FORMAT,
    h2load_log.FORMAT,
    pgbench_log.FORMAT,
    pgbench_aggregate.FORMAT,
    hdr_log.FORMAT,
    fortio.FORMAT,
    mutilate.FORMAT,
    mutilate_save.FORMAT,
    oha_text.FORMAT,
    oha_json.FORMAT,
    oha_csv.FORMAT,
    metriken.FORMAT,
    ring.FORMAT,
)
DEFAULT = Options()


def read(path: Path, name: str = "", options: Options = DEFAULT) -> tuple[Format, list[Series]]:
    """The format of a file, and what was measured.

    Args:
        path: of the file.
        name: of the format; "" to recognise it.
        options: what the file does not say.

    Raises:
        SpecFault: it cannot be read, is of no known format, or is damaged.
    """
    file = File(path)
    head = file.head()
    form = kinds.find(FORMATS, name, "format") if name else recognised(head, file.at)
    try:
        return form, form.read(file, options)
    except files.DAMAGE as error:  # any value of a stranger's file may be of any type
        raise SpecFault(
            f"it cannot be read as {form.name}: {type(error).__name__}",
            at=file.at,
            fix="run the tool again, or name the format with --format",
        ) from error


def recognised(head: str, at: str) -> Format:
    """The format that first bytes look like.

    Raises:
        SpecFault: none, or several.
    """
    fitting = [form for form in FORMATS.values() if form.is_it(head)]
    if len(fitting) == 1:
        return fitting[0]
    other = None if fitting else others.of(head)
    if other:
        raise SpecFault(f"it is {other.what}, which is not read", at=at, fix=other.fix)
    what = "it is of no known format"
    if fitting:
        what = f"it may be of several formats: {', '.join(form.name for form in fitting)}"
    raise SpecFault(what, at=at, fix=f"name it with --format: {', '.join(FORMATS)}")
