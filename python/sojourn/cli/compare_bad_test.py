"""Bad input of `compare`, `gate`, `history` and `noise`: what cannot be judged."""

from __future__ import annotations

import json
import math
import random
import shutil
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn import pipeline, spec, store
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.findings.findings import Findings
from sojourn.report import testing

GOLDEN = Path(__file__).parents[1] / "store" / "golden" / "record-1.tar.xz"
KNOWN = {"environment": {"name": "vm", "topology": {"model": "x", "allowed": [0, 1]}}}
Make = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Makes finished records without points, by study."""

    def one(study: str) -> Path:
        asked = spec.load(study, profile="quick")
        with store.open(tmp_path, asked, resume=False, machine="vm", manifest=KNOWN) as opened:
            opened.finish()
        number = len(list(tmp_path.glob("*/*/*")))
        return opened.path.rename(opened.path.with_name(f"202601{number:02d}T000000Z-aaaa"))

    return one


@pytest.fixture
def older(tmp_path: Path) -> list[Path]:
    """Two copies of a record that the first version wrote."""
    with tarfile.open(GOLDEN) as packed:
        packed.extractall(tmp_path / "older")  # noqa: S202 - our own; Python 3.11.2 knows no filters
    first = store.resolve(tmp_path / "older", None)
    second = first.with_name(f"{first.name}-again")
    shutil.copytree(first, second)
    return [first, second]


def edited(path: Path, **changes: object) -> None:
    at = path / "manifest.json"
    at.write_text(json.dumps({**json.loads(at.read_text()), **changes}))


def scattered(spread: float) -> Callable[[Path], Findings]:
    """Findings of a machine: its starts differ by a factor of e to this power."""
    lot = random.Random(1)  # noqa: S311 - no secret

    def findings(_: Path) -> Findings:
        return testing.four_starts(lambda _repeat: math.exp(lot.gauss(0, spread)))

    return findings


def test_records_of_an_older_version_are_compared(
    older: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, older)]) in {Exit.OK, Exit.UNKNOWN}
    out = capsys.readouterr().out
    assert "memcached" in out
    assert "p99" in out
    assert main(["noise", str(older[0])]) in {Exit.OK, Exit.UNKNOWN}


@pytest.mark.parametrize("command", ["compare", "noise"])
def test_a_record_of_a_newer_version_is_refused(
    command: str, older: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    edited(older[1], schema="sojourn.record/99")
    paths = older if command == "compare" else older[1:]
    assert main([command, *map(str, paths)]) == Exit.FAILED
    err = capsys.readouterr().err
    assert older[1].name in err
    assert "version" in err


def test_records_of_other_studies_have_nothing_in_common(
    make: Make, older: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    others = [make("latency_vs_load"), make("qos_matrix_nginx")]
    assert main(["compare", *map(str, others)]) == Exit.USAGE
    assert "no service and load in common" in capsys.readouterr().err
    mixed = [str(older[0]), str(others[0])]
    assert main(["compare", *mixed]) == Exit.USAGE
    assert "different machines" in capsys.readouterr().err
    assert main(["compare", *mixed, "--across-machines"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "no service and load in common" in err
    assert "memcached at" in err, "it names what each has"


def test_an_unfinished_record_is_compared_and_named(
    older: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (older[1] / "complete.json").unlink(missing_ok=True)
    assert main(["compare", *map(str, older)]) in {Exit.OK, Exit.UNKNOWN}
    text = " ".join(capsys.readouterr().err.split())
    assert older[1].name in text
    assert "not finished" in text


@pytest.mark.parametrize(
    "words", [["compare", "gone", "away"], ["noise", "gone"], ["history", "gone"]]
)
def test_what_is_gone_is_named_with_what_there_is(
    words: list[str], make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make("latency_vs_load")
    assert main([*words, "--results", str(tmp_path)]) in {Exit.USAGE, Exit.FAILED}
    err = capsys.readouterr().err
    assert "gone" in err
    assert "latency_vs_load" in err


def test_a_baseline_that_is_gone_ends_the_gate_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = ["--baseline", f"{tmp_path}/gone {{port}}", "--candidate", "sleep {port}"]
    results = tmp_path / "results"
    code = main(["gate", *sides, "--rate", "100", "--yes", "--results", str(results)])
    assert code in {Exit.USAGE, Exit.FAILED}
    err = capsys.readouterr().err
    assert f"{tmp_path}/gone" in err
    assert not list(results.glob("*/*/*/points/*/outcome.parquet"))


@pytest.mark.parametrize("alpha", ["0", "0%", "nan"])
def test_an_alpha_of_nothing_is_refused(
    alpha: str, make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = [str(make("latency_vs_load")) for _ in range(2)]
    gate = ["gate", "--baseline", "a {port}", "--candidate", "b {port}"]
    for words in (["compare", *two], gate, ["history", "--results", str(tmp_path)]):
        assert main([*words, "--alpha", alpha]) == Exit.USAGE
        assert "--alpha" in capsys.readouterr().err


def test_on_a_machine_so_noisy_that_nothing_can_be_decided_nothing_is(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = [str(make("latency_vs_load")) for _ in range(2)]
    monkeypatch.setattr(pipeline, "findings_of", scattered(2.0))
    assert main(["compare", *two]) == Exit.UNKNOWN
    out = " ".join(capsys.readouterr().out.split())
    assert "cannot be decided" in out
    assert "no difference" not in out
    monkeypatch.setattr(pipeline, "findings_of", scattered(1e-4))
    # max load has its own, wide interval
    assert main(["compare", *two, "--markdown"]) == Exit.UNKNOWN
    assert "no difference" in " ".join(capsys.readouterr().out.split())


def test_records_whose_runs_all_failed_say_so_and_not_that_their_loads_differ(
    make: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    two = [str(make("latency_vs_load")) for _ in range(2)]

    def findings(_: Path) -> Findings:
        one = testing.four_starts(lambda _repeat: 1.0)
        service = one.services[0]
        runs = tuple(replace(run, is_believed=False) for run in service.points[0].runs)
        points = (replace(service.points[0], runs=runs),)
        return replace(one, services=(replace(service, points=points, sections={}),))

    monkeypatch.setattr(pipeline, "findings_of", findings)
    assert main(["compare", *two]) == Exit.USAGE
    err = " ".join(capsys.readouterr().err.split())
    assert "none of them has a valid run in both" in err
    assert "sojourn show" in err
