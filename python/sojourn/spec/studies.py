"""Which file a study is: one that comes with the lab, by its bare name, or a path."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sojourn import disk
from sojourn.errors import SpecFault
from sojourn.spec.text import parse, read_text
from sojourn.spec.where import line_by_label
from sojourn.text.near import near

if TYPE_CHECKING:
    from sojourn.spec.models import Study

STUDIES = Path(__file__).parents[1] / "studies"


def of_papers() -> dict[str, tuple[str, ...]]:
    """Item of the papers → the built-in studies that measure it, by name (`Study.papers`)."""
    results: dict[str, tuple[str, ...]] = {}
    for name in names():
        path = STUDIES / f"{name}.toml"
        for item in parse(read_text(path), path).get("papers", ()):
            results[item] = (*results.get(item, ()), name)
    return results


def find(study: str | Path) -> Path:
    """The file that `study` means; SpecFault with near names if there is none."""
    path = Path(study)
    if path.suffix == ".toml" or "/" in str(study):
        if disk.is_file(path):
            return path
        why = ": it is a folder" if disk.is_folder(path) else ""
        what = f"there is no study file '{path}'{why}"
        raise SpecFault(what, at=str(path.absolute()), fix="check the path, or see `sojourn ls`")
    named = STUDIES / f"{study}.toml"
    if disk.is_file(named):
        return named
    if disk.is_file(path):
        what, fix = f"'{study}' is no study: its name does not end in .toml", "give a TOML file"
        raise SpecFault(what, at=str(path.absolute()), fix=fix)
    own = Path(f"{study}.toml")
    meant = [f"./{own}"] if disk.is_file(own) else near(str(study), names())
    guess = f"did you mean {' or '.join(meant)}? " if meant else ""
    raise SpecFault(
        f"there is no study called '{study}'",
        at=str(STUDIES),
        fix=f"{guess}`sojourn ls` lists them; a file of your own is given by path: my.toml",
    )


def located(
    asked: Study, study: str | Path, at: str, *, overrides: Sequence[str], varied: Sequence[str]
) -> str:
    """`mine.toml:7  services.memcached.knobs.cpuset`, or the option that put the value there.

    Args:
        asked: what `load` made of the rest.
        study: path or bare name.
        at: a key by its service's label; it comes back as it is where the file has nothing of it.
        overrides: as for `load`.
        varied: as for `load`.
    """
    for option, texts in (("--set", overrides), ("--vary", varied)):
        for text in texts:
            if text.partition("=")[0].strip() == at:
                return f"{option} {text}"
    path = find(study)
    line = line_by_label(read_text(path), at, [service.label for service in asked.services])
    return at if line is None else f"{path}:{line}  {at}"


def names() -> list[str]:
    """Names of the studies that come with the lab."""
    return sorted(path.stem for path in STUDIES.glob("*.toml"))


def asked() -> dict[str, str]:
    """The question of each study that comes with the lab, by its name; read without the models."""
    return {name: _head(STUDIES / f"{name}.toml")["question"] for name in names()}


def _head(path: Path) -> dict[str, Any]:
    """Keys above the first table, because the rest of a file takes longer to parse."""
    lines = takewhile(lambda line: not line.startswith("["), read_text(path).splitlines())
    return parse("\n".join(lines), path)
