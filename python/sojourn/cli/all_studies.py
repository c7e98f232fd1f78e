"""`--all` of `run`, `plan` and `check`: which studies are meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sojourn.cli import consent
from sojourn.errors import SpecFault

if TYPE_CHECKING:
    from sojourn.campaign import Planned
    from sojourn.spec import Study


def chosen(
    study: str | None, only: Sequence[str], *, is_all: bool, varied: Sequence[str]
) -> list[str]:
    """The studies that are asked for, in order, each once.

    Raises:
        SpecFault: the options contradict each other, or there is no such study.
    """
    from sojourn import spec

    if study is None and not is_all and not only:
        raise SpecFault(
            "no STUDY is named",
            at="the command line",
            fix=f"name one of {', '.join(spec.names())}, a TOML file, or give --all; "
            "`sojourn run --help`",
        )
    if study is not None:
        raise SpecFault(
            f"{study} is one study, --all and --only mean many",
            at="the command line",
            fix=f"leave {study} out, or write --all --only {study}",
        )
    if not is_all:
        raise SpecFault("--only is for --all", at="--only", fix="add --all, or name one study")
    if varied:
        raise SpecFault(
            "--vary is for one study, because it names that study's keys",
            at=f"--vary {varied[0]}",
            fix="name the study instead of --all",
        )
    named = [name.strip() for text in only for name in text.split(",") if name.strip()]
    for name in named:
        if not name.endswith(".toml") and name not in spec.names():
            raise SpecFault(
                f"there is no study called '{name}'",
                at=f"--only {','.join(only)}",
                fix=f"there are: {', '.join(spec.names())}; a file of your own ends with .toml",
            )
    return list(dict.fromkeys(named)) or spec.names()


def surveyed(
    names: Sequence[str], profile: str | None, sets: Sequence[str], *, is_agreed: bool | None = None
) -> Iterator[Planned]:
    """Each study with what it would measure here.

    Args:
        names: of studies, or paths of files.
        profile: of all; None: each has its own.
        sets: `key=value` for every study.
        is_agreed: whether they may load other machines; None: they are only looked at.
    """
    from sojourn import campaign, host

    def may(name: str, study: Study) -> bool:
        if is_agreed is None:
            consent.say_asked(study)
        else:
            consent.agreed(name, study, is_agreed=is_agreed)
        return bool(is_agreed)

    facts = host.read(sample_s=0.0, has_versions=False)  # who uses the CPUs now is not asked
    return campaign.survey(names, facts, profile=profile, sets=sets, may=may)


def budget_of_all_s(planned: Sequence[Planned]) -> float | None:
    """What one run of all may take in their profile; None where they have several."""
    from sojourn.campaign import BUDGET_S

    profiles = {one.whole.run.profile for one in planned}
    return BUDGET_S.get(profiles.pop()) if len(profiles) == 1 else None
