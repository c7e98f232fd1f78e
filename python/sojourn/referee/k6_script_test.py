"""Rates of k6 scripts: one plain number, or none."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sojourn.importers import k6_facts
from sojourn.referee import k6_script
from sojourn.referee.commands import recognised

SCRIPT = """
// executor: 'shared-iterations', rate: 9,
export const options = { scenarios: { a: {
  executor: 'constant-arrival-rate', rate: 1_200, timeUnit: '1m', duration: '10s' } } };
"""


def test_a_k6_script_may_use_tls(tmp_path: Path) -> None:
    path = tmp_path / "x.js"
    for scheme, handshakes in (("https", 2), ("http", 0)):
        path.write_text(f"{SCRIPT}\nhttp.get('{scheme}://x/');\n")
        load = recognised(["k6", "run", str(path)])
        assert (load.handshakes, load.rate_rps) == (handshakes, 20)


def test_a_k6_script_has_its_rate_if_it_is_one_plain_number(tmp_path: Path) -> None:
    path = tmp_path / "x.js"
    path.write_text(SCRIPT)
    load = recognised(["k6", "run", str(path)])
    assert (load.tool, load.rate_rps, load.arrivals) == ("k6", 20, "paced")
    assert load.facts is not None
    assert load.facts.loop == "open, limited"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("export default function () {}", ""),
        (SCRIPT.replace("1_200", "RATE"), "--rate"),
        (SCRIPT.replace("1_200", "1_200 * 2"), "--rate"),
        (SCRIPT + SCRIPT.replace("1_200", "7"), "--rate"),
        (SCRIPT.replace("'1m'", "'0s'"), "--rate"),
        (SCRIPT.replace("'1m'", "UNIT"), "--rate"),
        (SCRIPT.replace("1_200", "1e3"), "--rate"),
        (SCRIPT.replace("1_200,", "1_200\n * 2,"), "--rate"),
        (
            SCRIPT.replace("rate: 1_200", "rate") + "const rate = 7; const x = { rate: 7 };",
            "--rate",
        ),
        (SCRIPT + "const b = { 'executor': 'constant-vus' };", "--rate"),
        (SCRIPT.replace("} };", "}, env: 'http://x/', b: { executor: B, rate: 9 } };"), "--rate"),
        (SCRIPT + "http.get('http://x/'); http.post('http://x/');", "several requests"),
        (SCRIPT + "http.batch([a, b]);", "several requests"),
        (SCRIPT.replace("constant-arrival-rate", "ramping-arrival-rate"), "ramps"),
        (SCRIPT.replace("constant-arrival-rate", "constant-vus"), ""),
    ],
)
def test_what_a_k6_script_does_not_say_plainly_is_not_guessed(text: str, word: str) -> None:
    load = k6_script.of_text(text, k6_facts.FACTS)
    assert load.rate_rps is None
    assert word in " ".join(load.notes)
    assert bool(word) == bool(load.notes)


def test_a_k6_script_that_is_none_is_said(tmp_path: Path) -> None:
    for name in ("absent.js", "."):
        load = recognised(["k6", "run", str(tmp_path / name) + ("" if name != "." else "/x.ts")])
        assert "cannot be read" in " ".join(load.notes)
    assert "No script" in " ".join(recognised(["k6", "run"]).notes)


@pytest.mark.parametrize("over", ["--vus 9", "-u9", "--duration=9s", "-i 9", "--stage 5s:9"])
def test_an_option_of_k6_that_replaces_the_scenarios_leaves_no_rate(
    over: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.js"
    path.write_text(SCRIPT)
    load = recognised(["k6", "run", *over.split(), str(path)])
    assert (load.rate_rps, load.arrivals) == (None, "")
    assert "replaces the scenarios" in load.notes[0]
    (tmp_path / "y.js").write_text(SCRIPT)
    load = recognised(["k6", "run", str(path), str(tmp_path / "y.js")])
    assert load.rate_rps is None
    assert "2 scripts" in load.notes[0]


def test_an_address_in_a_script_of_k6_hides_nothing_behind_it(tmp_path: Path) -> None:
    path = tmp_path / "x.js"
    path.write_text(SCRIPT.replace("duration:", "env: { U: 'http://x/*' }, duration:"))
    assert recognised(["k6", "run", str(path)]).rate_rps == 20
    path.write_text(SCRIPT + "// another rate: 9, in a remark of 'k6'\n")
    assert recognised(["k6", "run", str(path)]).rate_rps == 20


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("k6 run x.js", 20),
        ("taskset -c 1 k6 run x.js", 20),
        ("sh -c 'k6 run x.js'", 20),
        ("sh -c 'cd other && k6 run x.js'", None),
        ("env --chdir=other k6 run x.js", None),
        ("docker run -v x:/x grafana/k6 run x.js", None),
        ("ssh host k6 run x.js", None),
    ],
)
def test_a_script_is_read_only_where_the_tool_reads_it(
    line: str, rate: float | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.js").write_text(SCRIPT)
    load = recognised(shlex.split(line), tmp_path)
    assert (load.tool, load.rate_rps) == ("k6", rate)
    monkeypatch.chdir(tmp_path)
    assert recognised(["k6", "run", "x.js"], None).rate_rps is None
