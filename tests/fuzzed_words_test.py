"""Journals, locks, bundles, replies and guests' words, damaged: read, or a fault in words."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from sojourn import campaign
from sojourn.damage_testing import bytes_like, json_like, lines_like
from sojourn.fuzz_testing import Target, fuzz
from sojourn.host.tree import Tree
from sojourn.places import image
from sojourn.places.guest import guest as guests
from sojourn.places.guest.channel import Channel
from sojourn.places.guest.testing import FakeQemu
from sojourn.report.index import Entry
from sojourn.run import left, turn
from sojourn.run.restore import restore
from sojourn.services.clients import connect, http2, sql, talk
from sojourn.services.clients.where import Where
from sojourn.services.own import asked, secret

JOURNAL = "".join(
    json.dumps(line) + "\n"
    for line in (
        {"event": "lab", "pid": 2**22 + 1, "start_ticks": 1, "boot": "another"},
        {"event": "folder", "entry": 1, "path": "/nowhere/sojourn-x1"},
        {"event": "process", "entry": 2, "what": "memcached", "pid": 2**22 + 2, "start_ticks": 3},
        {
            "event": "settings",
            "entry": 3,
            "root": "/none",
            "at_ticks": 1,
            "settings": [
                {"kind": "text", "path": "proc/sys/kernel/x", "old": "0", "new": "1", "what": "x"}
            ],
        },
        {"event": "netns", "entry": 4, "name": "sojourn-1a2b3c"},
        {"event": "undone", "entry": 2},
    )
)
BUNDLE = {
    "ociVersion": "1.0.2",
    "process": {
        "args": ["/app"],
        "cwd": "/",
        "capabilities": {"bounding": ["CAP_KILL"]},
        "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 9, "soft": 9}],
        "env": ["A=b"],
    },
    "root": {"path": "rootfs", "readonly": True},
    "mounts": [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/sys", "type": "sysfs", "options": ["ro"]},
    ],
    "linux": {
        "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")],
        "resources": {"devices": [{"allow": True, "type": "c", "major": 1, "minor": 3}]},
    },
}
REPLY = (
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"2\r\nab\r\n0\r\n\r\n"
)
REPLY2 = (
    http2.frame(http2.SETTINGS, 0, 0, b"")
    + http2.frame(http2.HEADERS, 4, 1, b"\x88")
    + http2.frame(http2.DATA, 1, 1, b"ab")
)
GUEST = "up\nstarted 12\ntask 7 7 nginx\tnginx: m\nfile 3 x\nabc\nlacks y\nexited 143\nend\n"
LOCK = '{"pid": 7, "study": "x", "began_s": 1.5}'


def test_a_journal(tmp_path: Path) -> None:
    """Of another boot: what is in it is taken apart, and nothing of this machine is touched."""
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)

    def reads(data: bytes) -> None:
        (folder / "lab-1-1.jsonl").write_bytes(data)
        (folder / "lab-1-1.jsonl").chmod(0o600)
        text = left.read(folder)
        if not any(one.is_of_this_boot for one in text):
            restore(folder, Tree(tmp_path / "none"))

    fuzz("journal", Target(lines_like, JOURNAL.encode(), reads, ("run.left", "run.restore")))


def test_the_machines_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"

    def reads(data: bytes) -> None:
        path.write_bytes(data)
        with path.open("rb") as file:
            assert turn._holder(file.fileno()).text.isprintable()

    fuzz("lock", Target(json_like, LOCK.encode(), reads, ("run.turn",)))


def test_a_bundle(tmp_path: Path) -> None:
    (tmp_path / "rootfs").mkdir()

    def reads(data: bytes) -> None:
        (tmp_path / "config.json").write_bytes(data)
        with contextlib.suppress(ValueError, OSError):  # what `services.container` makes a fault of
            image.read(tmp_path).runtime_config(name="x", words=["/app"], environment={"A": "c"})

    fuzz(
        "bundle",
        Target(json_like, json.dumps(BUNDLE).encode(), reads, ("places.image", "places.confined")),
    )


@pytest.mark.parametrize(("scheme", "sound"), [("http", REPLY), ("h2c", REPLY2)])
def test_a_servers_first_reply(monkeypatch: pytest.MonkeyPatch, scheme: str, sound: bytes) -> None:
    where = Where(scheme=scheme, host="127.0.0.1", port=1)
    texts = [b""]

    def connected(*_: object) -> socket.socket:
        ours, others = socket.socketpair()
        others.settimeout(0)
        with contextlib.suppress(BlockingIOError):
            others.send(texts[0])
        others.shutdown(socket.SHUT_WR)
        ours.settimeout(5)
        peers.append(others)
        return ours

    peers: list[socket.socket] = []
    monkeypatch.setattr(connect, "connected", connected)
    monkeypatch.setattr(asked, "reach", lambda *_: None)

    def reads(data: bytes) -> None:
        texts[0] = data
        try:
            with contextlib.suppress(asked.RefusedError):
                asked.Asked(expect_bytes=-1).prove(where)
        finally:
            while peers:
                peers.pop().close()

    fuzz(
        f"reply {scheme}",
        Target(
            bytes_like,
            sound,
            reads,
            (
                "services.clients.talk",
                "services.clients.connect",
                "services.clients.http_get",
                "services.clients.http2",
                "services.own.asked",
                "services.own.first_replies",
            ),
        ),
    )


def test_other_words_of_servers_and_studies() -> None:
    def reads(data: bytes) -> None:
        talk.classified(data)
        sql.values(data)
        sql.complaint(data)
        secret._of_study(data.decode("latin-1"), "x")

    sound = b"\0\2\0\0\0\2ab\xff\xff\xff\xffAPI_KEY=env:NAME"
    fuzz("words", Target(bytes_like, sound, reads, ("services.clients.sql", "services.own.secret")))


def test_what_a_guest_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guests, "ANSWER_S_MAX", 0.0)
    number = iter(range(10**9))

    def reads(data: bytes) -> None:
        at = tmp_path / str(next(number))
        work = at / "work"
        work.mkdir(parents=True)
        channel = Channel(at)
        guest = guests.Guest(FakeQemu(), channel, at=at, work=work, log=work / "service.log")
        text = os.open(at / "agent.out", os.O_RDWR | os.O_NONBLOCK)
        try:
            os.write(text, data[:60_000])
            guest.poll()
            guest.tasks()
            guest.owner(80)
            guest.stop(term_s=0.0)  # there is no service to wait for
        finally:
            os.close(text)
            channel.close()
        assert {path.name for path in tmp_path.iterdir()} == {at.name}
        shutil.rmtree(at)

    fuzz(
        "guest",
        Target(bytes_like, GUEST.encode(), reads, ("places.guest.guest", "places.guest.channel")),
    )


def test_a_campaign(tmp_path: Path) -> None:
    entry = Entry(study="a", question="?", state="answered", report="a/report.html", done=1, of=2)
    made = campaign.Campaign(
        folder=tmp_path, identity={"profile": "quick"}, command="x", started="y", entries=[entry]
    )
    made.write()

    def reads(data: bytes) -> None:
        (tmp_path / campaign.FILE).write_bytes(data)
        campaign.read(tmp_path).write()

    sound = (tmp_path / campaign.FILE).read_bytes()
    fuzz("campaign", Target(json_like, sound, reads, ("campaign.stored",)))
