"""The command of a study once more, with other values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sojourn.findings.measured import StudyData


def takes_values(data: StudyData) -> bool:
    """Whether the study's command has `--set`; `sojourn compare`, for instance, has none."""
    return re.search(r"\bsojourn run\b", _typed(data)) is not None


def with_values(data: StudyData, values: Mapping[str, float | str]) -> str:
    """What the user typed, with these values in place of his own; "" if it takes none.

    Args:
        data: the study; one without a command has the command that would run it.
        values: by key of the study, such as "run.repeats".
    """
    if not takes_values(data):
        return ""
    typed = _typed(data)
    for key in values:
        typed = re.sub(rf" --set {re.escape(key)}=\S+", "", typed)
    texts = {k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in values.items()}
    return typed + "".join(f" --set {key}={text}" for key, text in texts.items())


def again(data: StudyData) -> str:
    """The command as it was typed, which goes on with a record that is not finished."""
    return re.sub(r" --new(?=\s|$)", "", _typed(data))


def anew(data: StudyData) -> str:
    """The command that measures all of it once more, whatever there is.

    Args:
        data: a study of which the command takes values.
    """
    return f"{again(data)} --new"


def _typed(data: StudyData) -> str:
    return data.command or f"sojourn run {data.study.name} --profile {data.study.run.profile}"
