"""The streaming service: its job, its files, and a truncated chunk that is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from sojourn import programs, services
from sojourn.errors import HostFault
from sojourn.install import media_streaming as films
from sojourn.install.media_streaming_test import small
from sojourn.install.part import Made, hashed
from sojourn.places import Address, ports
from sojourn.services import Allowance, media_streaming
from sojourn.services.media_streaming import MediaStreaming

ROOMY = Allowance(cpus=4, memory_bytes=1 << 30, open_files=1 << 20)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """One film of a few bytes, as if it had been installed."""
    at = tmp_path / "kept"
    small(at)
    films.describe(at, list(films.names(1)))
    names = sorted(str(path.relative_to(at)) for path in at.rglob("*") if path.is_file())
    facts = {"films": "1", "qualities": "240p", "total_bytes": "9000", "ffmpeg": "ffmpeg version 5"}
    result = Made(at=at, files={name: hashed(at / name) for name in names}, facts=facts)
    monkeypatch.setattr(media_streaming, "made", lambda: result)
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    return result


def built(**params: services.Value) -> MediaStreaming:
    service = services.build("media_streaming", params, ROOMY)
    assert isinstance(service, MediaStreaming)
    return service


@pytest.mark.usefixtures("made")
def test_sessions_ask_for_the_films_that_were_made() -> None:
    service = built(workers=2)
    assert service.files == len(films.QUALITIES) * (films.CHUNKS + 1)
    job = service.job()
    assert job["sessions"] == "playback:chunks=10,every=4s,start=0.5s,mix=0.1/0.3/0.4/0.2"
    assert Path(str(job["paths_file"])).read_text().startswith("/film0/q0/list.m3u8\n")
    assert service.needs().workers == 2
    assert "root files;" in service.config(Address(ports.HOST, 1))
    assert "9" not in dict(service.setup())["sessions"]
    assert dict(service.setup())["data"].startswith("1 films of 40 s: 240p; 0.009 MB")


def test_it_serves_copies_so_that_the_cache_stays_the_labs(made: Made, tmp_path: Path) -> None:
    service = built()
    service.prepare(tmp_path)
    for path in service.names:
        served = tmp_path / "files" / path.removeprefix("/")
        assert hashed(served) == made.files[path.removeprefix("/")]
        assert served.stat().st_nlink == 1
    assert not (tmp_path / "files" / films.BODIES).exists()
    last = service.files - 1
    assert service.body_of(last) == (tmp_path / "files" / service.names[last][1:]).read_bytes()


@pytest.mark.usefixtures("made")
def test_films_that_do_not_fit_are_refused() -> None:
    small_disk = Allowance(cpus=1, memory_bytes=1 << 30, disk_bytes=10_000)
    with pytest.raises(HostFault, match="half of the free disk"):
        services.build("media_streaming", {}, small_disk)


def test_what_is_not_installed_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr(programs, "find", lambda name, fix=None: Path("/nowhere") / name)
    media_streaming.made.cache_clear()
    with pytest.raises(HostFault) as caught:
        services.build("media_streaming", {}, ROOMY)
    assert caught.value.fix == "sojourn install media_streaming"
