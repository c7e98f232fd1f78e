"""What `sojourn plan` counts, by combination of levels."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from sojourn import store
from sojourn.cli import lowered
from sojourn.cli.app import main
from sojourn.cli.plan import combinations
from sojourn.errors import Exit
from sojourn.plan import rehearse
from sojourn.spec import load
from sojourn.testing_questions import PLANS

TEXT = """
name = "pair"
question = "What do two services do to each other?"
[[services]]
kind = "memcached"
measure = ["sweep"]
[[services]]
kind = "synthetic"
measure = ["sweep"]
[together]
synthetic = [0.3]
memcached = [0.3, 0.6]
[factors]
"services.memcached.params.threads" = [1, 2]
"neighbour" = ["none", "spin"]
[run]
profile = "quick"
repeats = 3
fractions = [0.5]
"""


def test_services_at_once_are_counted_by_what_any_of_them_feels(tmp_path: Path) -> None:
    path = tmp_path / "pair.toml"
    path.write_text(TEXT)
    asked = load(path)
    ahead = rehearse(asked, PLANS)
    results = {
        (one.service, *map(one.levels.get, asked.factors)): one.points
        for one in combinations(asked, ahead)
    }
    both = {name[1:]: n for name, n in results.items() if name[0] == "memcached + synthetic"}
    assert both == dict.fromkeys(itertools.product((1, 2), ("none", "spin")), 3 * 5)
    assert sum(results.values()) == len(ahead.points)


ALONE = """
name = "alone"
question = "Where may it run?"
[[services]]
kind = "synthetic"
measure = ["sweep"]
"""


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize(
    ("text", "options", "at"),
    [
        (f'{ALONE}[services.knobs]\ncpuset = "0-9999"\n', (), ":8 services.synthetic.knobs"),
        (f'{ALONE}knobs = {{ cpuset = "1-0" }}\n', (), ":7 services.synthetic.knobs"),
        (f'{ALONE}[factors]\n"services.synthetic.knobs.cpuset" = ["0", "1-0"]\n', (), ":8 "),
        (ALONE, ("--set", "services.synthetic.knobs.cpuset=9999"), "at: --set services.s"),
    ],
    ids=["file", "inline", "factor", "set"],
)
def test_cpus_that_are_not_are_refused_where_they_stand(
    command: str,
    text: str,
    options: tuple[str, ...],
    at: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "alone.toml"
    path.write_text(text)
    assert main([command, str(path), *options]) == Exit.USAGE
    err = capsys.readouterr().err
    assert at in " ".join(err.split()), err
    assert "give some of CPUs 0" in err


@pytest.mark.parametrize("command", ["check", "plan"])
def test_a_level_of_cpus_that_are_not_is_skipped_and_the_others_are_planned(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "alone.toml"
    path.write_text(ALONE)
    vary = "services.synthetic.knobs.cpuset=0,9999"
    assert main([command, str(path), "--vary", vary]) == Exit.OK
    text = " ".join("".join(capsys.readouterr()).split())
    assert "cpuset is '9999', but CPU 9999 cannot be used here" in text, text
    assert "give some of CPUs 0" in text


@pytest.mark.parametrize("words", [["{}"], ["{}", "--json"], ["--all", "--only", "{}"]])
def test_root_gives_up_its_rights_before_it_reads_records(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alone.toml"
    path.write_text(ALONE)
    order: list[str] = []

    def last(results: Path, _: str) -> None:
        order.append(f"read {results}")

    monkeypatch.setattr(lowered, "for_reading", lambda folder: order.append(f"lowered {folder}"))
    monkeypatch.setattr(store, "last", last)
    asked = [word.format(path) for word in words]
    assert main(["plan", *asked, "--results", str(tmp_path)]) == Exit.OK
    assert order[0] == f"lowered {tmp_path}"
    assert {*order[1:]} <= {f"read {tmp_path}"}
