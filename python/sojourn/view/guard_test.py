"""Who may ask the view: by its key, by its host, by its site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs the extra view")
pytest.importorskip("uvicorn", reason="needs the extra view")

from sojourn.view.serving_testing import KEY, ROOT, Served, own_folders, serving


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    own_folders(tmp_path, monkeypatch)
    (tmp_path / "results").mkdir()
    with serving(tmp_path / "results") as one:
        yield one


#: Head, path as it is sent, and the status of the answer.
ASKED: tuple[tuple[dict[str, str], str, int], ...] = (
    ({}, f"{ROOT}/", 200),
    ({}, ROOT, 200),
    ({}, f"{ROOT}/records.json", 200),
    ({"Host": "localhost:9"}, f"{ROOT}/", 200),
    ({"Host": "evil.example"}, f"{ROOT}/", 400),
    ({"Host": "127.0.0.1.evil.example"}, f"{ROOT}/", 400),
    ({"Host": "[::1"}, f"{ROOT}/", 400),
    ({}, "/", 403),
    ({}, "/?key=wrong", 403),
    ({}, "/records.json", 403),
    ({}, f"{ROOT}x/", 403),
    ({}, f"/{ROOT}/", 403),
    ({}, f"/x/..{ROOT}/", 403),
    ({}, "/%ff/", 403),
)


def test_only_who_has_the_key_and_means_this_machine_is_answered(served: Served) -> None:
    answers = [(path, head, served.ask(path, head=head, root="").status) for head, path, _ in ASKED]
    assert answers == [(path, head, status) for head, path, status in ASKED]


def test_the_address_of_the_terminal_leads_to_a_page_below_the_key(served: Served) -> None:
    for path, location in (
        (f"/?key={KEY}", f"{ROOT}/"),
        (f"/dump/x%20y.json?key={KEY}", f"{ROOT}/dump/x%20y.json"),
        (f"/?study=a+b&key={KEY}", f"{ROOT}/?study=a+b"),
        (f"//evil.example/?key={KEY}", f"{ROOT}//evil.example/"),
    ):
        reply = served.ask(path, root="")
        assert (reply.status, reply.head["location"]) == (303, location)


def test_the_key_is_no_cookie_which_servers_at_other_ports_would_see(served: Served) -> None:
    for path in (f"/?key={KEY}", f"{ROOT}/", f"{ROOT}/rows"):
        reply = served.ask(path, root="")
        assert "set-cookie" not in reply.head
        assert reply.head["referrer-policy"] == "no-referrer"
    for cookie in (f"sojourn-view-{served.port}={KEY}", f"key={KEY}"):
        assert served.ask("/", head={"Cookie": cookie}, root="").status == 403


def test_only_this_site_writes_and_only_with_the_key(served: Served) -> None:
    own, body = f"http://127.0.0.1:{served.port}", json.dumps({"text": "x"}).encode()
    for origin, root, status in (
        (own, ROOT, 404),  # there is no such record
        (own, "", 403),
        (own, "/wrong", 403),
        ("http://127.0.0.1:1", ROOT, 403),
        ("", ROOT, 403),
        ("http://[", ROOT, 403),  # no address at all
        (f"{own}/", ROOT, 403),
    ):
        reply = served.ask("/r/a/b/c/note", "POST", body, head={"Origin": origin}, root=root)
        assert reply.status == status, (origin, root)
