"""What is reported before others are asked or loaded, and before a stranger's file is run."""

from __future__ import annotations

import http.server
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn import host, testing
from sojourn.cli import web_testing
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.run import turn
from sojourn.services.own import asked


@pytest.fixture(name="heard")
def _heard() -> Iterator[tuple[str, list[str]]]:
    """Authority of a server, and the paths that it is asked for."""
    paths: list[str] = []

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            pass

    with web_testing.serving(Pages) as at:
        yield at, paths


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> testing.Lab:
    (tmp_path / "locks").mkdir()
    return testing.installed(monkeypatch, tmp_path / "locks")


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch) -> None:
    testing.seen_once(monkeypatch)


@pytest.fixture(name="alone")
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other lab of this machine is waited for."""
    (tmp_path / "locks").mkdir(mode=0o1777)
    (tmp_path / "locks").chmod(0o1777)
    monkeypatch.setattr(turn, "FOLDERS", (tmp_path / "locks",))


def written(folder: Path, target: str, load: str = "") -> str:
    path = folder / "own.toml"
    path.write_text(
        'name = "own"\nquestion = "?"\naa = false\n[run]\nprofile = "quick"\nrates = ["50"]\n'
        '[[services]]\nkind = "external"\nmeasure = ["sweep"]\n'
        f'[services.params]\ntarget = "{target}"\n[services.load]\n{load}\n'
    )
    return str(path)


@pytest.mark.parametrize("command", ["check", "plan"])
def test_looking_ahead_says_whom_it_asks(
    heard: tuple[str, list[str]], tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    at, paths = heard
    assert main([command, written(tmp_path, f"http://{at}/x")]) == Exit.OK
    assert f"three test requests to http://{at}/x" in capsys.readouterr().err
    assert paths == ["/x"] * 3


@pytest.mark.parametrize("words", [["selfcheck"], ["--all", "--only", "selfcheck"]], ids=len)
def test_looking_ahead_does_not_watch_who_uses_the_cpus(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched_s: list[float] = []

    def read(*, sample_s: float, has_versions: bool) -> host.Facts:
        assert not has_versions
        watched_s.append(sample_s)
        return testing._read()

    monkeypatch.setattr(host, "read", read)
    assert main(["check", *words]) == Exit.OK
    assert watched_s == [0.0]


@pytest.mark.parametrize("command", ["check", "plan"])
@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_looking_ahead_asks_no_other_machine(
    heard: tuple[str, list[str]],
    tmp_path: Path,
    command: str,
    many: bool,  # noqa: FBT001
    scheme: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(asked, "is_here", lambda _: False)
    at, paths = heard
    path = written(tmp_path, f"{scheme}{at}")
    assert main([command, *(["--all", "--only", path] if many else [path])]) == Exit.OK
    assert "is another machine: no test requests now" in capsys.readouterr().err
    assert not paths


@pytest.mark.parametrize("many", [False, True])
def test_another_machine_is_loaded_with_consent_alone(
    lab: testing.Lab,
    heard: tuple[str, list[str]],
    tmp_path: Path,
    many: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(asked, "is_here", lambda _: False)
    at, paths = heard
    path = written(tmp_path, f"http://{at}/")
    words = ["run", *(["--all", "--only", path] if many else [path])]
    words += ["--results", str(tmp_path / "results"), "--quiet"]
    assert main(words) == Exit.USAGE
    assert "--yes" in capsys.readouterr().err
    assert not lab.points
    assert not paths
    assert not (tmp_path / "results").exists()
    assert main([*words, "--yes"]) != Exit.USAGE
    assert lab.points
    assert "another machine" in capsys.readouterr().err


def test_a_file_that_does_not_come_with_the_lab_is_reported_before_it_is_run(
    lab: testing.Lab,
    heard: tuple[str, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = ["--results", str(tmp_path / "results"), "--quiet"]
    main(["run", written(tmp_path, f"http://{heard[0]}/"), *results])
    err = capsys.readouterr().err
    assert "own.toml is not a built-in study. A study is a program; this one will" in err
    assert f"load   http://{heard[0]}/, this machine, 50 requests/s at most" in err
    assert lab.points
    main(["run", "selfcheck", "--profile", "quick", *results])
    assert "is not a built-in study" not in capsys.readouterr().err


def test_words_of_a_file_do_not_reach_the_terminal_raw(
    lab: testing.Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del lab
    path = tmp_path / "own.toml"
    path.write_text(
        'name = "own"\nquestion = "?"\naa = false\n[run]\nprofile = "quick"\nrates = ["50"]\n'
        '[[services]]\nkind = "command"\nmeasure = ["sweep"]\n'
        '[services.params]\nargv = "sh \\u001b[2J {port}"\n'
    )
    main(["run", str(path), "--results", str(tmp_path / "results"), "--quiet"])
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "sh \\x1b[2J" in err


@pytest.mark.parametrize(
    ("load", "key"),
    [
        ('paths_file = "no.txt"', "paths_file"),
        ('body_file = "no.bin"', "body_file"),
        ('ca_file = "no.pem"', "ca_file"),
        ('expect_file = "no.txt"', "expect_file"),
        ('auth = "bearer:file:no.txt"', "auth"),
        ('arrivals = "trace:no.txt,scaled"', "arrivals"),
        ('paths_file = "."', "paths_file"),
    ],
)
@pytest.mark.usefixtures("alone")
def test_a_file_that_is_not_there_is_reported_before_a_record_is_begun(
    heard: tuple[str, list[str]],
    tmp_path: Path,
    load: str,
    key: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path, f"http://{heard[0]}/", load)
    line = Path(path).read_text().splitlines().index(load) + 1
    assert main(["check", path]) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"own.toml:{line}  services.external.load.{key}" in err
    assert "cannot be read" in err
    assert "folder of the study" in err
    assert main(["run", path, "--results", str(tmp_path / "results"), "--quiet"]) == Exit.USAGE
    assert not list((tmp_path / "results").glob("*/*"))


def test_a_secret_that_is_not_set_is_reported_before_a_record_is_begun(
    heard: tuple[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = written(tmp_path, f"http://{heard[0]}/", 'auth = "bearer:env:TOKEN_OF_A_TEST"')
    monkeypatch.delenv("TOKEN_OF_A_TEST", raising=False)
    assert main(["check", path]) == Exit.USAGE
    assert "not set" in capsys.readouterr().err
    monkeypatch.setenv("TOKEN_OF_A_TEST", "abc")
    assert main(["check", path]) == Exit.OK
