"""What services are made of: passages, queries with their best passages, sentences, programs."""

from __future__ import annotations

import gzip
import itertools
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sojourn.errors import HostFault
from sojourn.install import (
    Part,
    answers,
    apt_calls,
    cpp,
    debs,
    fetch,
    moses,
    offers,
    sentences,
    texts,
)
from sojourn.install.debs import Deb
from sojourn.install.ranking import Ranking, queries


def machine(root: Path) -> None:
    """A machine with two texts, a man page, a picture and a file that is no gzip."""
    doc, man = root / "usr/share/doc/web", root / "usr/share/man/man1"
    doc.mkdir(parents=True)
    man.mkdir(parents=True)
    (doc / "copyright").write_text(" ".join(f"Free{chr(97 + n % 26)}" for n in range(600)))
    (doc / "copyright.png").mkdir()
    (doc / "changelog.gz").write_bytes(b"no gzip")
    page = b".TH WEB 1\n.SH NAME\n\\fBweb\\fR \\- serves pages " + b"quickly and well " * 100
    (man / "web.1.gz").write_bytes(gzip.compress(page))


def test_folders_of_what_is_made_are_open_whatever_the_mask_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their modes are copied into working folders, which servers' users read."""
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path / "c"))

    def make(unpacked: Path, into: Path) -> dict[str, str]:
        del unpacked
        (into / "lib" / "deep").mkdir(parents=True)
        (into / "lib" / "file").touch()
        return {}

    before = os.umask(0o077)
    try:
        made = fetch(Part(name="web", about="a thing", version="1", debs=(), make=make), ())
        assert os.umask(0o077) == 0o077, "the mask is as it was"
    finally:
        os.umask(before)
    folders = (made.at, made.at / "lib", made.at / "lib" / "deep")
    assert {oct(folder.stat().st_mode & 0o777) for folder in folders} == {"0o755"}
    assert (made.at / "lib" / "file").stat().st_mode & 0o777 == 0o644


def test_passages_are_of_this_machine_and_the_same_every_time(tmp_path: Path) -> None:
    machine(tmp_path)
    corpus = texts.corpus(300, tmp_path)
    assert corpus == texts.corpus(300, tmp_path)
    assert texts.corpus(3, tmp_path).drawn == 0
    assert all(texts.SHORTEST <= len(p.split()) <= texts.LONGEST for p in corpus.passages)
    words = set(" ".join(corpus.passages[: 300 - corpus.drawn]).split())
    assert {"freea", "web", "serves", "quickly"} <= words
    assert not {"th", "sh", "fb", "fr"} & words


def test_where_texts_are_too_few_passages_are_drawn_and_it_says_so(tmp_path: Path) -> None:
    bare = texts.corpus(300, tmp_path)
    assert (len(bare.passages), bare.drawn) == (300, 300)
    assert "300 drawn by Zipf's law" in bare.text
    assert len(set(bare.passages)) == 300
    counts = sorted(np.unique(" ".join(bare.passages).split(), return_counts=True)[1], reverse=True)
    # Of the ranks r and 4 r the first is four times as often: 300 · 80 words, five sigma.
    assert counts[2] / counts[11] == pytest.approx(4.0, abs=5 * 4.0 * (1 / counts[11]) ** 0.5)
    machine(tmp_path)
    both = texts.corpus(300, tmp_path)
    assert 0 < both.drawn < 300
    assert "man pages" in both.text


def test_weights_are_those_of_the_closed_form() -> None:
    passages = ["a b", "a a c d", *["c d e f"] * 6]
    result = Ranking(passages, ["a", "b"]).weights("a b")
    mean = (2 + 4 * 7) / 8
    damped = [0.5 * max(length / mean, 0.5) + 0.5 for length in (2, 4)]
    rare = {n: np.log((8 - n + 0.5) / (n + 0.5)) for n in (1, 2)}
    assert result[0] == pytest.approx(2 * (rare[2] + rare[1]) / (damped[0] + 1))
    assert result[1] == pytest.approx(2 * rare[2] * 2 / (damped[1] + 2))
    assert not result[2:].any()
    common = Ranking(["a"] * 6 + ["b"] * 2, ["a"]).weights("a")
    assert common[0] == pytest.approx(2 * np.log(0.5 * 2.5 / 6.5 + 1) / 2), "never below zero"


def test_only_the_best_in_their_order_explain_a_query() -> None:
    passages = ["a a b", "a c d", "a c d", "c d e", *["e f g"] * 9]
    ranking = Ranking(passages, ["a"])
    weights = ranking.weights("a")
    first, second = float(weights[0]), float(weights[1])
    assert ranking.explains("a", [(1, first), (2, second), (3, second)])
    assert ranking.explains("a", [(1, first), (3, second), (2, second)]), "of one weight"
    assert not ranking.explains("a", [(1, first), (2, second), (2, second)])
    assert not ranking.explains("a", [(2, second), (1, first), (3, second)])
    assert not ranking.explains("a", [(1, first + 0.01), (2, second), (3, second)])
    assert not ranking.explains("a", [(1, first), (2, second), (3, second), (4, 0.0)])
    assert not ranking.explains("a", [(1, first), (2, second)]), "one lacks"
    assert not ranking.explains("a", [])


def test_queries_have_three_terms_that_are_neither_rare_nor_everywhere() -> None:
    passages = [
        f"five{'abcde'[n % 5]} four{'abcd'[n % 4]} each{n} everywhere of" for n in range(120)
    ]
    made = queries(passages, 20)
    assert made == queries(passages, 20)
    terms = [query.split() for query in made]
    assert all(len(set(each)) == 3 for each in terms)
    spread = {
        term: sum(term in p.split() for p in passages) for term in set(itertools.chain(*terms))
    }
    assert all(20 <= often <= 30 for often in spread.values()), spread
    with pytest.raises(ValueError, match="have 0 words to be asked for"):
        queries(["one two three"] * 9, 1)


def test_sentences_are_distinct_and_follow_from_the_seed() -> None:
    made = sentences.plain(200, 1)
    assert len(set(made)) == 200
    assert made == sentences.plain(200, 1) != sentences.plain(200, 2)
    assert all(40 <= len(text) <= 90 for text in made)


def test_inputs_and_answers_are_lines(tmp_path: Path) -> None:
    answers.keep(tmp_path, "a.txt", ["one ", "two"])
    assert answers.read(tmp_path / "a.txt") == ("one ", "two")
    for wrong in ("", "  ", "a\nb"):
        with pytest.raises(ValueError, match=r"no line of a\.txt"):
            answers.keep(tmp_path, "a.txt", ["one", wrong])


def program(folder: Path, script: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_answers_must_not_depend_on_those_before(tmp_path: Path) -> None:
    answers.keep(tmp_path, answers.INPUTS, ["x", "y", "z"])
    alike = program(tmp_path, f"sed s/^/said-/ {tmp_path}/{answers.INPUTS}")
    assert answers.answers_of(alike, tmp_path) == ("said-x", "said-y", "said-z")
    assert answers.read(tmp_path / answers.INPUTS) == ("x", "y", "z")
    with pytest.raises(ValueError, match="answers 'x' with"):
        answers.answers_of(program(tmp_path, f"cat -n {tmp_path}/{answers.INPUTS}"), tmp_path)
    with pytest.raises(ValueError, match="1 answers to 3 inputs"):
        answers.answers_of(program(tmp_path, "echo one"), tmp_path)
    with pytest.raises(ValueError, match="program fails: oh no"):
        answers.answers_of(program(tmp_path, "echo oh no >&2; exit 3"), tmp_path)


def test_a_pipeline_is_stored_with_its_files(tmp_path: Path) -> None:
    unpacked, into = tmp_path / "unpacked", tmp_path / "into"
    into.mkdir()
    with pytest.raises(ValueError, match=r"no file usr/share/apertium/modes/eng-spa\.mode"):
        moses.stored_stages(unpacked, into)
    for name in ("usr/bin/one", "usr/bin/two", "usr/share/apertium/x/a.bin"):
        (unpacked / name).parent.mkdir(parents=True, exist_ok=True)
        (unpacked / name).write_text(name)
    (unpacked / "usr/share/apertium/modes").mkdir()
    mode = "one '/usr/share/apertium/x/a.bin' | two $1 $2 -b"
    (unpacked / "usr/share/apertium/modes/eng-spa.mode").write_text(mode)
    stages = moses.stored_stages(unpacked, into)
    assert stages == [["one", "-z", "@data/a.bin"], ["two", "-z", "-g", "-b"]]
    assert (into / "data" / "a.bin").read_text() == "usr/share/apertium/x/a.bin"
    assert (into / "bin" / "two").read_text() == "usr/bin/two"


def test_by_hand_each_stage_is_started_for_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "word").write_text("b")
    for name in ("sed", "cat"):
        shutil.copy(shutil.which(name) or name, tmp_path / "bin" / name)
    stages = [["sed", "-z", "s/a/b/"], ["cat", "-", "@word"]]
    assert moses.by_hand(tmp_path, stages, "a a") == "b a\nb"


def test_what_a_package_depends_on_comes_with_it_but_for_the_c_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lines = ["libc6_2_amd64.deb", "libmore1_1%3a2_amd64.deb", "web_1_all.deb"]
    text = "".join(f"'http://m/{name}' {name} 12 MD5Sum:0\n" for name in lines)
    reports: list[list[str]] = []

    def tried(argv: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        reports.append(list(map(str, argv)))
        return subprocess.CompletedProcess(argv, 100 if "bad" in argv else 0, text, "E: no\n")

    monkeypatch.setattr(apt_calls, "tried", tried)
    web = Deb(package="web", has_more=True)
    assert debs.others((web, Deb(package="web-dev"))) == (Deb(package="libmore1"),)
    assert "web-dev" not in reports[0]
    assert debs.others((Deb(package="web"),)) == ()
    with pytest.raises(HostFault, match="cannot install bad here: E: no"):
        debs.others((Deb(package="bad", has_more=True),))


def test_what_lacks_to_make_it_is_reported_before_anything_is_downloaded() -> None:
    thing = Part(
        name="thing",
        about="",
        version="1",
        debs=(),
        builds={"no-such-compiler": "cc-1"},
        make=lambda *_: {},
    )
    with pytest.raises(HostFault, match="no-such-compiler is not installed") as caught:
        offers(thing)
    assert caught.value.fix == "apt install cc-1, then sojourn install thing"


def test_another_source_is_another_version() -> None:
    names = ("xapian.cpp", "sphinx.cpp", "moses.cpp")
    assert len({cpp.version(name) for name in names}) == 3
    assert all(len(one) == 12 for one in map(cpp.version, names))
    assert set(itertools.chain(*(path.suffixes for path in cpp.SOURCES.iterdir()))) == {
        ".cpp",
        ".hpp",
    }
