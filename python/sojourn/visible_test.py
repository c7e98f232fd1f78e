"""What controls a terminal is spelled out; all else stays."""

from __future__ import annotations

import json
import shlex
import tomllib
import unicodedata

import pytest

from sojourn.visible import in_line, own_command, visible


def test_no_control_is_left_and_no_other_letter_is_touched() -> None:
    letters = [chr(number) for number in range(0x11000)]
    for letter in letters:
        is_control = unicodedata.category(letter) in {"Cc", "Cs", "Zl", "Zp"}
        is_turning = (
            unicodedata.bidirectional(letter)
            in {
                "LRE",
                "RLE",
                "LRO",
                "RLO",
                "PDF",
                "LRI",
                "RLI",
                "FSI",
                "PDI",
            }
            or letter in "\u200e\u200f\u061c"
        )
        is_shown = not (is_control or is_turning)
        assert (in_line(letter) == letter) == is_shown, hex(ord(letter))
        assert (visible(letter) == letter) == (is_shown or letter in "\t\n"), hex(ord(letter))


def test_it_changes_nothing_the_second_time() -> None:
    once = visible("\x1b]0;OWN\x07\x1b[31m é ▸ \u202e\n\tx")
    assert once == "\\x1b]0;OWN\\x07\\x1b[31m é ▸ \\u202e\n\tx"
    assert visible(once) == once
    assert in_line("a\nb\tc") == "a\\x0ab\\x09c"


def test_json_and_toml_mean_the_same_afterwards() -> None:
    message = "\x1b[2J \x7f \x85 \u202e \u2028 \ud800"
    for text in (json.dumps([message], ensure_ascii=False), json.dumps([message])):
        assert json.loads(visible(text)) == [message]
    whole = message.replace("\ud800", "")
    assert tomllib.loads(visible('a = "\x85\u202e\u2066"'))["a"] == "\x85\u202e\u2066"
    assert "\x1b" not in visible(whole)


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\x1b[8m", "\n", "\x85"])
def test_a_command_that_looks_like_another_is_not_offered(mark: str) -> None:
    assert own_command(shlex.join(["sojourn", "run", "a b"]))
    assert not own_command(shlex.join(["sojourn", "run", f"a{mark}b"]))
