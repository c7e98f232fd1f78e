"""What `sojourn try` and `init` ask: a method, headers, a body, queries."""

from __future__ import annotations

import http.server
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from sojourn import spec
from sojourn.cli import web_testing
from sojourn.cli.app import main
from sojourn.errors import Exit
from sojourn.services.own import asked
from sojourn.services.own.proof import Proof

WEB = "http://127.0.0.1:9/"
GATE = f"gate --baseline {WEB} --candidate"
POSTED = ["--method", "POST", "-H", "Content-Type: application/json", "--body", '{"id": {item}}']
KEYS: dict[str, str | bool | list[str]] = {
    "method": "POST",
    "header": ["Content-Type: application/json"],
    "body": '{"id": {item}}',
}


class Orders(http.server.BaseHTTPRequestHandler):
    """It takes orders, and shows none."""

    def do_GET(self) -> None:
        self.send_response(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def asked_in(path: Path, keys: Iterable[str]) -> dict[str, object]:
    """These keys of the generator's job in a study that was written."""
    load = spec.load(path).services[0].load
    values = {key: load[key] for key in keys}
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}


@pytest.fixture(name="orders", scope="module")
def _orders() -> Iterator[str]:
    with web_testing.serving(Orders) as at:
        yield f"http://{at}/orders"


def test_a_service_that_takes_no_get_is_asked_otherwise_by_the_advice(
    orders: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.toml"
    for words in (["try", orders], ["init", orders, "-o", str(path)]):
        assert main(words) == Exit.USAGE
        err = capsys.readouterr().err
        assert "status 405" in err
        assert "at: TARGET" in err, "no study is there yet"
        assert "--method POST" in err
        assert "--body" in err
    assert main(["init", orders, *POSTED, "-o", str(path)]) == Exit.OK
    assert asked_in(path, KEYS) == KEYS


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (["--target", "http://{host}:{port}/orders", *POSTED], KEYS),
        (
            ["--target", "postgres://me@{host}:{port}/shop", "--query", "SELECT {}"],
            {"query": ["SELECT {}"]},
        ),
        (
            ["--target", "postgres://me@{host}:{port}/shop", "--option", "prepared=false"],
            {"option": {"prepared": "false"}},
        ),
        (
            shlex.split(
                "--target grpc://{host}:{port}/a.B/C --body {} --option descriptor=/dev/null "
                "--option window=64KiB"
            ),
            {"body": "{}", "option": {"descriptor": "/dev/null", "window": "64KiB"}},
        ),
    ],
)
def test_init_of_a_command_has_its_requests(
    command: list[str], wanted: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    assert main(["init", "--command", "sh -c 'app {port}'", *command, "-o", str(path)]) == Exit.OK
    assert asked_in(path, wanted) == wanted


@pytest.mark.parametrize("text", ["prepared", "=false", "a b=c"])
@pytest.mark.parametrize("command", ["try", "init", "noise", GATE, "compare --url"])
def test_each_command_takes_the_option_that_the_generator_advises(
    command: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command.split(), WEB, "--option", text]) == Exit.USAGE
    assert "at: --option" in capsys.readouterr().err


def test_the_file_of_an_option_has_to_be_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", "grpc://127.0.0.1:9/a.B/C", "--option", "descriptor=no.pb"]) == Exit.USAGE
    err = capsys.readouterr().err
    assert f"{Path.cwd()}/no.pb cannot be read" in err
    assert "at: --option" in err


@pytest.mark.parametrize(
    ("target", "wanted"),
    [("grpc://{host}:{port}/a.B/C", "descriptor ="), ("http://{host}:{port}/", "method =")],
)
def test_the_comments_of_a_study_are_about_its_protocol(
    target: str, wanted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["init", "--command", "sh -c 'app {port}'", "--target", target, "-o", "-"]
    assert main(words) == Exit.OK
    text = capsys.readouterr().out
    assert {word for word in ("descriptor =", "method =") if word in text} == {wanted}


def test_a_store_is_filled_first_if_that_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every run of such a study failed, because no key that it asked for was there."""
    monkeypatch.setattr(asked.Asked, "prove", lambda *_: Proof())
    path = tmp_path / "own.toml"
    for more in (["--preload"], []):
        assert main(["init", "redis://127.0.0.1:9", *more, "--force", "-o", str(path)]) == Exit.OK
        assert spec.load(path).services[0].params["preload"] is bool(more)
        assert ("give --preload" in capsys.readouterr().err) is not bool(more)


def test_a_request_has_one_body(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "body.json"
    file.write_text("{}")
    words = ["init", "http://127.0.0.1:9/", "--body", "{}", "--body-file", str(file)]
    assert main(words) == Exit.USAGE
    assert "at: --body, --body-file" in capsys.readouterr().err


def test_the_next_command_repeats_the_requests() -> None:
    from sojourn.cli import credentials

    words = credentials.words({**KEYS, "query": ["SELECT 1", "SELECT {}"], "option": {"a": "b c"}})
    assert shlex.join(words) == (
        "--method POST --header 'Content-Type: application/json' --body '{\"id\": {item}}' "
        "--query 'SELECT 1' --query 'SELECT {}' --option 'a=b c'"
    )
