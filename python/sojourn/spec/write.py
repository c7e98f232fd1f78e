"""`Study` → TOML: the resolved file that is stored with every result and reproduces it."""

from __future__ import annotations

from typing import Any

import tomli_w

from sojourn.spec.models import Study


def to_toml(study: Study) -> str:
    """The study with every default written out; reading it back gives an equal study.

    Only `papers` is left out: it does not change what is measured, and resuming compares texts.
    """
    table = study.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"papers"})
    varied = {key: table.pop(key) for key in ("factors", "design")}
    if study.factors:  # else as they were written before there were any: resuming compares texts
        table |= varied
    if not study.run.rates:  # the same
        del table["run"]["rates"]
    table["run"]["shield"] = table["run"].pop("shield")  # behind the keys that questions add
    for service in table["services"]:
        if (qos := service.get("qos")) and not qos["bound"]:
            del qos["bound"]
    return tomli_w.dumps(_plain(table))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
