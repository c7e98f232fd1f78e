"""Words of strangers in Markdown: no mark, no link, no message to a user."""

from __future__ import annotations

import re

import pytest

from sojourn.text.markdown import plain, row

#: What GitHub makes a link of in text, escaped or not (its GFM specification, 6.9; its own marks).
LINKS = re.compile(r"https?://|ftp://|www\.|@[\w-]|#\d|\bGH-\d", re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "see https://evil.example/x",
        "HTTP://evil.example",
        "ftp://evil.example",
        "www.evil.example and WWW.evil.example",
        "@octocat, @org/team",
        "mail root@evil.example",
        "fixes #12",
        "closes owner/name#12 and GH-7",
    ],
)
def test_a_bare_address_name_or_number_is_no_link(text: str) -> None:
    assert LINKS.search(text)
    shown = plain(text)
    assert not LINKS.search(shown)
    assert shown.replace("<!-- -->", "").replace("\\", "") == text, "a reader sees it as it was"


def test_numbers_names_and_times_of_the_lab_stay_as_they_are() -> None:
    for text in ("p99.9 at 12k/s: 3.1 ms", "---", "08:15:00", "xz (7), 95 %"):
        assert plain(text) == text
    assert row(["load", "---"]) == "| load | --- |"
    assert row(["a|b", "@c"]) == "| a\\|b | @<!-- -->c |"
