"""`sojourn try` and `sojourn init`, with a fake lab and a real little server."""

from __future__ import annotations

import http.server
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

from sojourn import run, spec, testing
from sojourn.cli import init_cmd, slow_reply, web_testing
from sojourn.cli.app import main
from sojourn.errors import Exit, HostFault, RunFault
from sojourn.plan import Point
from sojourn.services.own import asked, external, proof
from sojourn.spec import Study, own

PAGE = b"hello"


class Pages(http.server.BaseHTTPRequestHandler):
    """The same page under every path."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(name="web", scope="module")
def _web() -> Iterator[str]:
    with web_testing.serving(Pages) as at:
        yield at


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> testing.Lab:
    (tmp_path / "locks").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.chdir(tmp_path)
    brief = {**own.QUICK["search"], "budget_s": 0.01}  # type: ignore[dict-item]
    monkeypatch.setitem(own.QUICK, "search", brief)  # a made-up run takes no time
    return testing.installed(monkeypatch, tmp_path / "locks")


def test_try_says_one_sentence_with_its_number_first_and_leaves_nothing(
    lab: testing.Lab, web: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["try", web, "--bound", "2ms"])
    out = capsys.readouterr().out
    first = " ".join(out.partition("\n\n")[0].split())
    assert code in {Exit.OK, Exit.UNKNOWN}
    assert first[0] in "≈0123456789a"
    assert f"fit within p99 ≤ 2 ms: http://{web}/" in first
    assert "90 %" in first
    assert "requests/s at most" in first
    assert "o holds" in out, "a plot"
    assert out.rstrip().endswith(f"next: sojourn init {web} --bound 2ms")
    assert not list((tmp_path / "tmp").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"locks", "tmp"}


def test_try_offers_the_rates_that_it_is_given_and_no_more(
    lab: testing.Lab, web: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["try", f"http://{web}/", "--rates", "2k,10k", "--bound", "2ms"])
    out = capsys.readouterr().out
    assert {point.offered_rps for point in lab.points} == {2000.0, 10_000.0}
    assert out.startswith("p99 ")
    assert "at 2k requests/s" in " ".join(out.split())
    assert "% of the highest load" in out


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["http://h:0/"], "not a port"),
        (["redis://{web}"], "looks like HTTP/1"),
        (["http://{web}/", "--bound", "soon"], "--bound"),
        (["http://{web}/", "--quantile", "2"], "--quantile"),
        (["http://{web}/", "--rates", "fast"], "--rates"),
    ],
)
def test_what_cannot_be_tried_is_refused_before_any_load(
    lab: testing.Lab, web: str, capsys: pytest.CaptureFixture[str], words: list[str], text: str
) -> None:
    assert main(["try", *(word.format(web=web) for word in words)]) == Exit.USAGE
    assert text in capsys.readouterr().err
    assert not lab.points


def test_another_machine_is_not_loaded_as_far_as_it_goes_unasked(
    lab: testing.Lab, web: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(asked, "is_here", lambda _: False)
    assert main(["try", web]) == Exit.USAGE
    assert "--yes" in capsys.readouterr().err
    assert not lab.points


def test_what_says_how_to_ask_goes_to_the_generator_and_into_the_next_command(
    lab: testing.Lab,
    web: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del lab
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").touch()
    (tmp_path / "tok").write_text("abc")
    options = ["--ca-file", "ca.pem", "--auth", "bearer:file:tok"]
    main(["try", f"http://{web}/", "--rates", "2k", *options])
    out = capsys.readouterr().out
    there = f"--ca-file {tmp_path}/ca.pem --auth bearer:file:{tmp_path}/tok"
    assert out.rstrip().endswith(f"next: sojourn init http://{web}/ {there}")
    assert main(["init", f"http://{web}/", "--insecure", *options, "-o", "own.toml"]) == Exit.OK
    load = written(tmp_path / "own.toml").services[0].load
    assert load["insecure"] is True
    assert load["ca_file"] == f"{tmp_path}/ca.pem"
    assert load["auth"] == f"bearer:file:{tmp_path}/tok"


@pytest.mark.parametrize(
    ("option", "value"), [("--ca-file", "no.pem"), ("--auth", "bearer:file:no")]
)
def test_a_file_that_is_not_there_is_reported_by_its_option(
    lab: testing.Lab, web: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["try", web, option, value]) == Exit.USAGE
    err = capsys.readouterr().err
    assert "cannot be read" in err
    assert f"at: {option}" in err
    assert not lab.points


def test_a_fault_names_no_file_that_is_gone(
    lab: testing.Lab,
    web: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(_study: Study, _point: Point, folder: Path, *_: object) -> None:
        raise RunFault(
            "sojourn-load: no secure connection",
            at=f"target ({folder}/load.job.json)",
            fix=f"see {folder}/load.log: take any with --insecure",
        )

    del lab
    monkeypatch.setattr(run, "execute", fails)
    assert main(["try", f"http://{web}/", "--rates", "2k"]) == Exit.FAILED
    seen = capsys.readouterr()
    assert "its log: take any with --insecure" in seen.err
    assert "load.job.json" not in seen.err + seen.out
    assert str(tmp_path) not in seen.err + seen.out


def test_a_service_of_seconds_is_given_time(
    lab: testing.Lab, web: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(proof, "UNSTRETCHED_S", 1e-6)  # as if these replies took long
    main(["try", web, "--rates", "2k"])
    assert "for about 10 min" in capsys.readouterr().err
    assert {point.measure_s for point in lab.points} == {own.QUICK["measure_s"] * 20}  # type: ignore[operator]
    text = own.written(name="x", target="http://h:1/", command="", has_items=False, stretch=10.0)
    assert "\nstretch = 10 #" in text


def written(path: Path) -> Study:
    study = spec.load(path)
    assert spec.load(path, overrides=["run.profile=quick"]).services == study.services
    return study


def test_init_writes_a_study_of_a_service_that_runs(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", web]) == Exit.OK
    path = tmp_path / capsys.readouterr().out.strip()
    text = path.read_text()
    assert "# replies: must have 5 bytes" in text
    (service,) = written(path).services
    assert (service.kind, service.params["target"]) == ("external", f"http://{web}/")
    assert main(["init", web]) == Exit.USAGE, "it is there already"
    assert "--force" in capsys.readouterr().err
    assert main(["init", web, "--force"]) == Exit.OK


@pytest.mark.parametrize(("options", "bound_s"), [([], init_cmd.FIRST_S), (["--bound", "7s"], 7.0)])
def test_init_waits_for_a_first_reply_as_long_as_its_bound_says(
    options: list[str], bound_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited half a minute for a server that was silent, whatever bound it was given."""
    waits: list[float] = []

    def adapted(_self: object, _load: object, within_s: float) -> None:
        waits.append(within_s)
        raise HostFault("silence", at="TARGET", fix="none")

    monkeypatch.setattr(external.External, "adapted", adapted)
    assert main(["init", "http://127.0.0.1:1/", *options]) == Exit.USAGE
    assert waits == [bound_s]


def test_a_first_reply_that_takes_long_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    is_said = Event()

    def heard(text: str) -> None:
        texts.append(text)
        is_said.set()

    monkeypatch.setattr(slow_reply, "say", heard)
    with slow_reply.noted("http://h/", 30.0, "", after_s=0.0):
        assert is_said.wait(60)
    assert len(texts) == 1
    assert texts[0].endswith(
        "reply of http://h/, 30 s at most, because no --bound says how long a reply may take; "
        "a shorter --bound waits less"
    )
    with slow_reply.noted("http://h/", 30.0, "", after_s=1e6):
        pass
    assert len(texts) == 1, "most services answer sooner"
    is_said.clear()
    with slow_reply.noted("http://h/", 14.0, "7s", after_s=0.0):
        assert is_said.wait(60)
    assert "14 s at most, because a reply may take twice --bound 7s" in texts[-1]


@pytest.mark.parametrize(
    ("options", "target"),
    [
        (["--bound", "100ms"], {"q": 0.99, "bound": "100ms"}),
        (["--bound", "2s", "--quantile", "0.999"], {"q": 0.999, "bound": "2s"}),
        (["--quantile", "0.95"], {"q": 0.95, "rule": spec.QosRule.LOW_LOAD}),
    ],
)
def test_init_takes_the_target_of_the_try_before_it(
    options: list[str], target: dict[str, object], web: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    assert main(["init", web, *options, "-o", str(path)]) == Exit.OK
    qos = spec.load(path).services[0].qos
    assert qos is not None
    assert {name: getattr(qos, name) for name in target} == target


@pytest.mark.parametrize("options", [["--bound", "soon"], ["--bound", "50"], ["--quantile", "2"]])
def test_a_target_that_is_none_writes_no_study(
    options: list[str], web: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.toml"
    assert main(["init", web, *options, "-o", str(path)]) == Exit.USAGE
    assert f"at: {options[0]}" in capsys.readouterr().err
    assert not path.exists()


def test_init_writes_a_study_also_where_several_processes_may_serve(
    web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def several(*_: object) -> None:
        raise external.AmbiguousFault(
            "several hold the socket: a (1), b\n[x] (2)",
            at="service external, pid",
            fix="give pid = NUMBER of its first process",
        )

    monkeypatch.setattr(external, "processes_at", several)
    path = tmp_path / "own.toml"
    assert main(["init", web, "-o", str(path)]) == Exit.OK
    line = "# processes: several hold the socket: a (1), b\\x0a[x] (2). Fix: give pid = NUMBER of"
    assert line in path.read_text()
    assert written(path).services[0].params["target"] == f"http://{web}/"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives a link away")
def test_init_overwrites_nothing_by_a_link_of_somebody_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    victim, path = tmp_path / "victim", tmp_path / "app.toml"
    victim.write_text("before")
    path.symlink_to(victim)
    os.chown(path, 65_534, 65_534, follow_symlinks=False)
    words = ["init", "--command", "sh -c 'exec app \"$0\"' {port}", "-o", str(path)]
    for more in ([], ["--force"]):
        assert main([*words, *more]) == Exit.USAGE
        assert victim.read_text() == "before"
    assert "somebody else has made" in " ".join(capsys.readouterr().err.split())
    os.chown(path, 0, 0, follow_symlinks=False)
    assert main([*words, "--force"]) == Exit.OK
    assert 'argv = "sh' in victim.read_text()


def test_init_writes_a_study_of_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.toml"
    words = "sh -c 'exec app \"$0\"' {port}"
    assert main(["init", "--command", words, "-o", str(path)]) == Exit.OK
    study = written(path)
    assert (study.name, study.services[0].params["argv"]) == ("app", words)
    capsys.readouterr()
    for wrong in (["init"], ["init", "x:1", "--command", words], ["init", "--command", "sh"]):
        assert main(wrong) == Exit.USAGE


def test_init_writes_what_a_command_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "app.toml"
    words = ["init", "--command", "sh -c 'exec app \"$0\"' {port}", "-o", str(path)]
    assert main([*words, "--target", "memcache://{host}:{port}"]) == Exit.OK
    (service,) = written(path).services
    assert service.params["target"] == "memcache://{host}:{port}"
    assert "\n# items = " in path.read_text(), "it is a key-value store"
    capsys.readouterr()
    assert main([*words, "--force", "--target", "memcache"]) == Exit.USAGE
    assert "at: --target" in capsys.readouterr().err
    assert main(["init", "http://h:1/", "--target", "http://{host}:{port}/"]) == Exit.USAGE
    assert "at: --target" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["http://h:1/", "resp://h:1"])
@pytest.mark.parametrize("command", ["", "app {port}"])
def test_every_line_that_is_commented_out_could_stand(
    tmp_path: Path, command: str, target: str
) -> None:
    text = own.written(
        name="x", target="" if command else target, command=command, has_items="resp" in target
    )
    path = tmp_path / "x.toml"
    path.write_text(text)
    written(path)
    keys = [line[2:] for line in text.splitlines() if line.startswith("# ") and " = " in line[:20]]
    whole = text
    for line in keys:
        if not line.startswith(("rates", "bound", "pid", "cgroup")):
            whole = whole.replace(f"# {line}", line)
    path.write_text(whole)
    written(path)
