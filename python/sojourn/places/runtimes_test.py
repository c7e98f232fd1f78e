"""What the runtimes of containers are given."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from sojourn import programs
from sojourn.errors import RunFault
from sojourn.places import cgroups, contained, inside, lxc, nspawn, process, remains, starter
from sojourn.places.contained import Contained, Job
from sojourn.places.local import Local
from sojourn.places.lxc import Lxc
from sojourn.places.nspawn import Nspawn
from sojourn.places.process_end import Ended
from sojourn.places.rootfs import Bind
from sojourn.places.runc import Runc
from sojourn.places.users import User

NOBODY_USER = User("nobody", 65534, 65533)
FAKE = Path("/usr/bin/fake")


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job as `Contained` makes it; no program is looked for."""
    monkeypatch.setattr(programs, "find", lambda name, **_: Path("/usr/bin", name))
    return Job(
        name="sojourn-0123456789-1",
        at=tmp_path,
        root=tmp_path / "root",
        binds=(Bind(Path("/usr")), Bind(Path("/srv/a b:c"), is_writable=True)),
        argv=("/usr/bin/memcached", "-t", "4"),
        cwd=Path("/srv/a b:c"),
        user=NOBODY_USER,
        open_files=64,
    )


def test_a_starter_becomes_user_and_program_with_few_words_of_environment(job: Job) -> None:
    words = starter.words(job.user)
    assert words[:2] == ("/bin/sh", "-c")
    assert {"--reuid=65534", "--regid=65533", "--clear-groups", *starter.NO_RIGHTS} <= {*words}
    report = words[words.index("-i") + 1 :]
    assert dict(one.split("=", 1) for one in report) == process.environment()
    assert not any(word.startswith(("--reuid", "--regid")) for word in starter.words(None))


def test_a_process_is_a_starter_until_it_is_the_program(job: Job) -> None:
    words = [*starter.words(job.user), *job.argv]
    shell, setpriv = len(starter.SHELL), words.index("/usr/bin/env")
    for stage in (words, words[shell:], words[setpriv:]):
        assert starter.is_one(stage)
    assert not starter.is_one(job.argv)
    for other in ([], [""], ["/bin/sh", "-c", "sleep 9"], ["env", "x"], ["/usr/bin/setpriv", "-d"]):
        assert not starter.is_one(other)


def test_nspawn_needs_no_service_manager_and_gets_all_on_its_command_line(job: Job) -> None:
    words = [str(word) for word in Nspawn().command(job)]
    assert {"--register=no", "--keep-unit", "--read-only", "--console=pipe"} <= {*words}
    assert f"--machine={job.name}" in words
    assert "--bind-ro=/usr" in words
    assert "--bind=/srv/a b\\:c" in words  # a colon would begin another path
    assert "--rlimit=RLIMIT_NOFILE=64" in words
    assert words[-3:] == list(job.argv)
    assert words.index("/bin/sh") > max(
        i for i, word in enumerate(words) if word.startswith("--ma")
    )


def test_nspawn_may_open_as_many_files_as_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (10, 100))
    assert [nspawn._open_files(wanted) for wanted in (0, 50, 1000)] == [100, 50, 100]


def test_lxc_makes_no_group_whose_name_is_not_the_containers(job: Job) -> None:
    reports = list(lxc.config(job, job.at / "mount"))
    groups = {key: value for key, value in reports if key.startswith("lxc.cgroup.dir.")}
    assert {
        "lxc.cgroup.dir.monitor",
        "lxc.cgroup.dir.monitor.pivot",
        "lxc.cgroup.dir.container",
    } == {*groups}
    assert all(value.startswith(f"{job.name}/") for value in groups.values())
    assert len({*groups.values()}) == len(groups)
    assert dict(reports)["lxc.net.0.type"] == "none"


def test_lxc_gets_paths_as_in_fstab(job: Job) -> None:
    entries = [value for key, value in lxc.config(job, job.at) if key == "lxc.mount.entry"]
    assert entries == [
        "/usr usr none rbind,ro 0 0",
        r"/srv/a\040b:c srv/a\040b:c none rbind,rw 0 0",
    ]


def test_lxc_reads_its_configuration_from_the_jobs_folder(job: Job) -> None:
    words = list(Lxc().command(job))
    report = words[words.index("--rcfile") + 1]
    assert Path(report).read_text().splitlines()[0] == f"lxc.uts.name = {job.name}"
    assert (job.at / "mount").is_dir()
    assert words[-3:] == list(job.argv)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("runc version 1.1.5\ncommit: 1", "container by runc version 1.1.5"),
        ("1.1.5", "container by runc (1.1.5)"),
    ],
)
def test_a_runtime_is_shown_with_its_version(
    text: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "find", lambda _: FAKE)
    monkeypatch.setattr(programs, "says", lambda *_: text)
    assert Runc(Local()).notes == (("place", f"{shown}, in the machine's own network"),)


@pytest.mark.parametrize("kind", [Runc, Nspawn, Lxc])
def test_what_a_runtime_shares_is_new_for_all_containers_of_a_lab(
    kind: type[Contained], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two containers: the second finds what the first has made, and must still remove it."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.mkdir()
    monkeypatch.setattr(kind, "shared", (new, old))
    monkeypatch.setattr(contained, "_NEW", set())
    noted: list[object] = []

    class Book:
        def note(self, _: str, /, **facts: object) -> int:
            noted.append(facts["shared"])
            return 1

        def started(self, *_: object) -> int:
            return 2

        def undone(self, _: int) -> None: ...

    monkeypatch.setattr(remains, "RUN", tmp_path / "run")
    (tmp_path / "run").mkdir()
    monkeypatch.setattr(cgroups, "mounts", lambda: ())
    places = [kind(), kind()]
    for place in places:
        place.enter(Book())
        new.mkdir(exist_ok=True)
    assert noted == [[str(new)], [str(new)]]
    for place in places:
        place.leave()
    assert not new.exists()
    assert old.exists()


def test_a_runtime_that_refuses_is_told_in_its_own_words(tmp_path: Path) -> None:
    """Its process is a fake: one that has ended."""

    class Refused:
        what, pid = "memcached", 1

        def poll(self) -> Ended:
            return Ended(status=1, cpu_s=0.0, rss_kb_max=0, is_clean=True)

    log = tmp_path / "log"
    log.write_text("lxc-start: no such key\n")
    with pytest.raises(RunFault) as caught:
        inside.await_first(Refused(), log)  # type: ignore[arg-type]
    assert "its runtime ended with exit status 1" in caught.value.what
    assert caught.value.at == "lxc-start: no such key"
