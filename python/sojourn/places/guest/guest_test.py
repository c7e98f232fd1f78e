"""A guest whose QEMU is a fake; its agent is this test, at the other ends of real pipes."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sojourn.places.guest import guest as guests
from sojourn.places.guest import qemu as qemu_words
from sojourn.places.guest import starting
from sojourn.places.guest.channel import DATA_BYTES_MAX, LINE_BYTES_MAX, Channel
from sojourn.places.guest.guest import LACKS_MAX, Guest
from sojourn.places.guest.qemu import CONSOLE
from sojourn.places.guest.testing import ENDED, FakeQemu


class Agent:
    """The guest's side: what it says goes to the lab, what the lab says can be read."""

    def __init__(self, folder: Path) -> None:
        self._out = os.open(folder / "agent.out", os.O_RDWR)
        self._in = os.open(folder / "agent.in", os.O_RDWR | os.O_NONBLOCK)

    def say(self, *lines: str) -> None:
        os.write(self._out, "".join(f"{line}\n" for line in lines).encode())

    def heard(self) -> list[str]:
        try:
            return os.read(self._in, 4096).decode().splitlines()
        except BlockingIOError:
            return []

    def answer(self, *lines: str) -> threading.Thread:
        """Say this as soon as something was asked."""

        def wait() -> None:
            os.set_blocking(self._in, True)
            os.read(self._in, 4096)
            self.say(*lines)

        thread = threading.Thread(target=wait)
        thread.start()
        return thread

    def close(self) -> None:
        os.close(self._out)
        os.close(self._in)


@pytest.fixture
def qemu() -> FakeQemu:
    return FakeQemu()


@pytest.fixture
def guest(tmp_path: Path, qemu: FakeQemu) -> Guest:
    work = tmp_path / "work"
    work.mkdir()
    channel = Channel(tmp_path)
    return Guest(qemu, channel, at=tmp_path, work=work, log=work / "service.log")


@pytest.fixture
def agent(guest: Guest, tmp_path: Path) -> Iterator[Agent]:
    del guest  # it made the pipes
    made = Agent(tmp_path)
    yield made
    made.close()


def test_a_service_that_ends_takes_its_guest_along(
    guest: Guest, agent: Agent, qemu: FakeQemu
) -> None:
    assert guest.poll() is None
    agent.say("up", "started 12")
    assert guest.poll() is None
    assert guest.booted_s is not None
    agent.say("exited 3")
    assert guest.poll() is None  # it may leave files yet
    agent.say("end")
    assert guest.poll() == replace(ENDED, status=3)
    assert qemu.ended is not None
    assert guest.poll() == replace(ENDED, status=3)  # heard once, and kept


def test_a_signal_is_sent_inside_and_told_as_one(guest: Guest, agent: Agent) -> None:
    agent.say("up", "started 12")
    guest.send(signal.SIGTERM)
    assert agent.heard() == ["signal 15"]
    agent.say("exited 143", "end")
    ended = guest.stop()
    assert ended.status == -signal.SIGTERM
    assert "SIGTERM" in ended.text


@pytest.mark.parametrize(("status", "text"), [(1, "exit"), (139, "SIGSEGV")])
def test_how_the_service_ended_is_not_how_its_guest_was_ended(
    status: int, text: str, guest: Guest, agent: Agent, qemu: FakeQemu
) -> None:
    """A domain of libvirt has a text of its own for its end."""
    qemu.ends = replace(ENDED, message="was ended by libvirt")
    agent.say("up", f"exited {status}", "end")
    ended = guest.poll() if status == 1 else guest.stop()
    assert ended is not None
    assert text in ended.text
    assert "libvirt" not in ended.text


def test_a_guest_that_still_boots_is_ended_and_not_asked(guest: Guest, agent: Agent) -> None:
    ended = guest.stop()
    assert agent.heard() == []
    assert ended.status == -signal.SIGKILL


def test_a_kernel_that_panics_tells_why_and_its_last_words_are_kept(
    guest: Guest, agent: Agent, qemu: FakeQemu, tmp_path: Path
) -> None:
    agent.say("up")
    (tmp_path / CONSOLE).write_text(
        "[ 1.0] Kernel panic - not syncing: Out of memory\n[ 1.1] end\n"
    )
    qemu.ended = ENDED
    ended = guest.poll()
    assert ended is not None
    assert ended.text == "was lost with its guest: the guest's kernel panicked (Out of memory)"
    log = (tmp_path / "work" / "service.log").read_text()
    assert "guest: [ 1.0] Kernel panic" in log


def test_a_guest_without_memory_for_its_service_says_so(
    guest: Guest, agent: Agent, tmp_path: Path
) -> None:
    agent.say("up", "exited 137", "end")
    (tmp_path / CONSOLE).write_text("[ 9.0] Out of memory: Killed process 71 (memcached)\n")
    ended = guest.poll()
    assert ended is not None
    assert ended.status == -signal.SIGKILL
    assert "too little memory" in ended.text
    assert "Out of memory" in (tmp_path / "work" / "service.log").read_text()


def test_a_qemu_that_refuses_is_told_as_such(guest: Guest, qemu: FakeQemu) -> None:
    qemu.ended = replace(ENDED, status=1)
    ended = guest.poll()
    assert ended is not None
    assert ended.text == "has no guest: QEMU ended with exit status 1"


def test_a_guest_that_does_not_boot_is_given_up(
    guest: Guest, qemu: FakeQemu, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert guest.poll() is None
    monkeypatch.setattr(guests, "BOOT_S_MAX", -1.0)
    ended = guest.poll()
    assert ended is not None
    assert "none had booted" in ended.text
    assert qemu.ended is not None


def test_files_that_it_leaves_are_brought_back_and_no_others(
    guest: Guest, agent: Agent, tmp_path: Path
) -> None:
    agent.say("up", "exited 0", "file 5 serve.json")
    agent.say("12345", "file 3 ../evil")
    agent.say("abc", "file 3 service.log", "abc", "end")
    ended = guest.poll()
    assert ended is not None
    assert ended.status == 0
    assert (tmp_path / "work" / "serve.json").read_bytes() == b"12345"
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "work" / "service.log").exists()


def test_threads_owner_and_pins_are_asked_of_the_agent(guest: Guest, agent: Agent) -> None:
    agent.say("up")
    asked = agent.answer("task 7 7 nginx\tnginx: master", "task 7 9 mc worker\tx -y", "tasks")
    tasks = guest.tasks()
    asked.join()
    assert [(t.pid, t.tid, t.name, t.command) for t in tasks] == [
        (7, 7, "nginx", "nginx: master"),
        (7, 9, "mc worker", "x -y"),
    ]
    for text, is_owner in (("owner 7", True), ("owner 0", False)):
        asked = agent.answer(text)
        assert guest.owner(80) is is_owner
        asked.join()
    for text, is_there in (("pinned 9 2", True), ("pinned 9 3", False), ("pinned 9 no", False)):
        asked = agent.answer(text)
        assert guest.pin(9, 1) is is_there
        asked.join()


def test_a_piece_of_work_is_timed_and_none_of_an_agent_that_is_gone(
    guest: Guest, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent.say("up")
    asked = agent.answer("worked")
    taken_ns = guest.work(100)
    asked.join()
    assert taken_ns is not None
    assert taken_ns > 0
    monkeypatch.setattr(guests, "ANSWER_S_MAX", 0.05)
    assert guest.work(100) is None
    assert agent.heard() == ["work 100"]


def test_a_restored_guest_with_another_time_is_doubted(guest: Guest) -> None:
    for off_s, doubt in (
        (None, "its clock was not set"),
        (-30.0, "its clock is off by -30 s"),
        (0.4, ""),
    ):
        guest.clock_off_s = off_s
        assert starting.clock_doubt(guest) == doubt


def test_an_agent_that_is_gone_answers_nothing(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guests, "ANSWER_S_MAX", 0.05)
    assert guest.tasks() == ()
    assert not guest.owner(80)


def test_a_guest_that_says_nonsense_takes_no_memory_and_ends_nothing(
    guest: Guest, agent: Agent, tmp_path: Path
) -> None:
    """What runs in a guest is the service's, which may be anybody's."""
    agent.say("file 99999999999 x", "file " + "9" * 5000 + " x", "exited " + "9" * 5000)
    agent.say("file 0 a\0b", "file 0 ", "file 0 .", "file 0 " + "n" * 300)
    agent.say("exited ²", *(f"lacks {n}" for n in range(300)))
    assert guest.poll() is None
    assert len(guest._lacks) == LACKS_MAX
    answered = agent.answer("task", "task 1", "task a b c\td", "task 7 8 name\tx y", "tasks")
    assert [(task.pid, task.tid) for task in guest.tasks()] == [(7, 8)]
    answered.join(20)
    assert not (tmp_path / "work" / "x").exists()


def test_a_console_is_read_at_its_end_however_long_it_is(tmp_path: Path) -> None:
    console = tmp_path / CONSOLE
    with console.open("wb") as file:
        file.truncate(2**36)  # of which nothing is on the disk
        file.seek(0, os.SEEK_END)
        file.write(b"\nKernel panic - not syncing: out of ideas\n")
    assert qemu_words.panic(console) == "out of ideas"


def test_a_line_without_an_end_is_let_go(tmp_path: Path) -> None:
    heard = Channel(tmp_path)
    agent = Agent(tmp_path)

    def shout() -> None:
        for _ in range(64):
            os.write(agent._out, bytes(b"x" * 65_536))
        agent.say("", "up")

    thread = threading.Thread(target=shout)
    thread.start()
    most = 0
    while (line := heard.line(20)) != "up":
        most = max(most, len(heard._heard))
        assert line is not None
    thread.join(20)
    assert most <= 2 * LINE_BYTES_MAX
    assert heard.data(DATA_BYTES_MAX + 1, 20) is None, "without waiting for it"
    agent.close()
    heard.close()
