"""What services measured in turn print when they are stopped, and how they are asked."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path
from typing import NoReturn

import pytest

from sojourn import pipeline, questions
from sojourn.cli import credentials, in_turn, visible_words
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.questions.compare import block_runs, judge
from sojourn.spec import Study
from sojourn.stats import gate_rule, visible_change

WORDS = {
    "compare": ["compare", "--url", "http://[::1]:9/", "--url", "http://[::1]:19/"],
    "gate": ["gate", "--baseline", "http://[::1]:9/", "--candidate", "http://[::1]:19/"],
    "noise": ["noise", "--command", "true --port {port}"],
}
SECURED = {
    "compare": ["compare", "--url", "https://[::1]:9/", "--url", "h2://[::1]:19/"],
    "vary": ["compare", "--url", "https://[::1]:9/", "--vary", "load.connections=8,16"],
    "gate": ["gate", "--baseline", "https://[::1]:9/", "--candidate", "true {port}",
             "--target", "https://{host}:{port}/"],
    "noise": ["noise", "--command", "true {port}", "--target", "https://{host}:{port}/"],
}  # fmt: skip
SHORT = ["--rate", "100", "--yes"]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """Studies that were to be run, each stopped at once."""
    studies: list[Study] = []

    def stop(asked: Study, *_: object, **__: object) -> NoReturn:
        studies.append(asked)
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run_study", stop)
    return studies


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with what a service wants to see."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").touch()
    (tmp_path / "tok").write_text("abc")
    return tmp_path


def resumed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Words of the command that goes on."""
    _, _, command = capsys.readouterr().err.partition("resume with: ")
    return shlex.split(command.splitlines()[0])


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("verb", WORDS)
def test_the_command_to_resume_names_the_folder_of_the_record(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "two words"
    code = main([*WORDS[verb], *SHORT, "--results", str(results)])
    assert code == Exit.INTERRUPTED
    words = resumed(capsys)
    assert words[words.index("--results") + 1] == str(results)


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize(
    ("verb", "sees", "levels", "margin"),
    [
        ("compare", "a change of this size is seen", [0.01 / 2], 0.0),
        ("gate", "a gate with a limit of 5% sees", [0.01, gate_rule.CONFIRM], 0.05),
    ],
)
def test_the_change_that_is_seen_is_that_of_the_commands_own_test(
    verb: str,
    sees: str,
    levels: list[float],
    margin: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = ["--numbers", "p99", "--within", "5m", "--results", str(tmp_path)]
    assert main([*WORDS[verb], *SHORT, *options]) == Exit.INTERRUPTED
    text = " ".join(capsys.readouterr().err.split())
    blocks = re.search(r"about (\d+) blocks", text)
    size = re.search(rf"{sees} nine times out of ten, by [^:]*: p99 [±+](\d+)%", text)
    assert blocks is not None
    assert size is not None
    seen = int(size[1]) / 100

    def needed(change: float) -> float:
        scatter = in_turn.USUAL_P99
        each = [visible_change.blocks_for(change, scatter, level, margin) for level in levels]
        return sum(math.inf if one is None else one for one in each)

    assert needed(seen) <= int(blocks[1]) < needed(seen - 0.01)


def test_the_scatter_is_that_of_the_newest_comparison_whatever_its_folder_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "judged", lambda path: path.name)
    monkeypatch.setattr(questions, "scatter", lambda name: {"p99": 0.1, "of": name})
    for name, month in (("baseline", 3), ("20260201T000000Z-aaaa", 2), ("alpha", 1)):
        folder = tmp_path / "compare/vm" / name
        folder.mkdir(parents=True)
        started = f"2026-{month:02d}-01T00:00:00+00:00"
        (folder / "manifest.json").write_text(json.dumps({"started": started}))
    assert in_turn._scatters(tmp_path, "compare")[1] == "the scatter in baseline"
    (tmp_path / "compare/vm/alpha").rename(tmp_path / "compare/vm/20260401T000000Z-bbbb")
    assert in_turn._scatters(tmp_path, "compare")[1] == "the scatter in 20260401T000000Z-bbbb"
    for number in range(20):  # newer records of another study hide none of this one
        other = tmp_path / f"other/vm/20260501T0000{number:02d}Z-cccc"
        other.mkdir(parents=True)
        (other / "manifest.json").write_text("{}")
    assert in_turn._scatters(tmp_path, "compare")[1] == "the scatter in 20260401T000000Z-bbbb"


def test_worse_is_less_of_the_number_of_which_more_is_better() -> None:
    assert judge.TITLES[block_runs.MAX_RPS] == visible_words.MAX_RPS
    assert visible_words.worse(visible_words.MAX_RPS, 0.25) == "max RPS -20%"


@pytest.mark.parametrize("verb", SECURED)
def test_who_asks_goes_to_the_generator_and_into_the_command_to_resume(
    verb: str, stopped: list[Study], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--ca-file", "ca.pem", "--auth", "bearer:file:tok"]
    assert main([*SECURED[verb], *SHORT, *options]) == Exit.INTERRUPTED
    its = {"ca_file": f"{folder}/ca.pem", "auth": f"bearer:file:{folder}/tok"}
    (study,) = stopped
    for service in study.services:
        assert {key: service.load.get(key) for key in its} == its
    words = resumed(capsys)
    assert words[words.index("--ca-file") + 1] == its["ca_file"]
    assert words[words.index("--auth") + 1] == its["auth"]
    main([*words[1:], "--yes"])
    assert stopped[1] == study, "it goes on with the same study"


def test_options_of_tls_go_to_services_that_speak_it() -> None:
    load: dict[str, credentials.JobValue] = {"insecure": True, "auth": "basic:env:TOK"}

    def keys(*texts: str, target: str = "") -> list[set[str]]:
        typed = [("--url", text) for text in texts]
        return [set(side["load"]) for side in in_turn.services(typed, target, load)]

    assert keys("http://a/", "HTTPS://b/", "./c {port}") == [{"auth"}, set(load), {"auth"}]
    secured = "https://{host}:{port}/"
    assert keys("http://a/", "./c {port}", target=secured) == [{"auth"}, set(load)]
    assert keys("http://a/", "http://b/") == [set(load), set(load)], "the generator refuses it"


@pytest.mark.parametrize(
    "words",
    [
        ["compare"],
        ["compare", "one", "other"],
        ["compare", "--service", "memcached", "--vary", "params.threads=1,2"],
        ["noise"],
        ["noise", "one"],
        ["noise", "--service", "memcached"],
    ],
)
def test_who_asks_is_refused_where_no_service_of_ones_own_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--insecure", "--auth", "basic:env:TOK", "--results", str(tmp_path)]
    assert main([*words, *options]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "at: --insecure, --auth" in err
    assert "no command or URL" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "at"),
    [
        (["--ca-file", "no.pem"], "--ca-file"),
        (["--cert", "ca.pem"], "--cert, --key"),
        (["--auth", "bearer:file:no"], "--auth"),
    ],
)
@pytest.mark.parametrize("verb", SECURED)
def test_a_file_that_is_not_there_is_reported_by_its_option(
    verb: str,
    options: list[str],
    at: str,
    stopped: list[Study],
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([*SECURED[verb], *SHORT, *options]) == Exit.USAGE
    assert f"at: {at}\n" in capsys.readouterr().err
    assert not stopped


def test_a_key_is_not_both_varied_and_an_option(
    stopped: list[Study], capsys: pytest.CaptureFixture[str]
) -> None:
    one = ["compare", "--url", "https://[::1]:9/", "--vary", "load.auth=basic:env:A,basic:env:B"]
    assert main([*one, *SHORT, "--auth", "basic:env:TOK"]) == Exit.USAGE
    assert "at: --auth\n" in capsys.readouterr().err
    assert not stopped
    assert main([*one, *SHORT]) == Exit.INTERRUPTED
    assert [s.load["auth"] for s in stopped[0].services] == ["basic:env:A", "basic:env:B"]


def test_a_level_names_a_file_of_the_folder_in_which_it_was_typed(
    stopped: list[Study], folder: Path
) -> None:
    one = ["compare", "--url", "https://[::1]:9/", "--vary", "load.ca_file=ca.pem,tok"]
    assert main([*one, *SHORT]) == Exit.INTERRUPTED
    files = [service.load["ca_file"] for service in stopped[0].services]
    assert files == [f"{folder}/ca.pem", f"{folder}/tok"]


def test_the_whole_load_has_no_levels(
    stopped: list[Study], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", "--service", "memcached", "--vary", "load=1,2"]
    assert main([*words, *SHORT]) == Exit.USAGE
    assert "'load' is a table" in capsys.readouterr().err
    assert not stopped
