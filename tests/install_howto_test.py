"""What the pages say of installing, and of the image, holds on machines of others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
#: Folders of the kernel: they are never labelled anew, and what mounts them is privileged.
KERNEL = ("/sys", "/proc", "/dev")
CONTAINER = re.compile(r"^.*\b(?:podman|docker) run .*$", re.MULTILINE)
FROM_INDEX = re.compile(r"\b(?:pip|pipx|uv)\b.*\binstall (?:-\S+ )*['\"]?sojourn(?![\w.-])")


def volumes(text: str) -> Iterator[tuple[str, str, str]]:
    """The line, the host's folder and the options of each volume that a container mounts."""
    for line in CONTAINER.findall(text.replace("\\\n", " ")):
        for quoted, plain in re.findall(r"(?:-v|--volume)[ =](?:\"([^\"]+)\"|(\S+))", line):
            folder, _, rest = (quoted or plain).partition(":")
            yield line, folder, rest.partition(":")[2]


def unlabelled(text: str) -> list[str]:
    """Lines that mount a folder which SELinux would close to the container."""
    return [
        line
        for line, folder, options in volumes(text)
        if not {"z", "Z"} & set(options.split(","))
        and not (folder.startswith(KERNEL) and "--privileged" in line)
    ]


def test_a_folder_of_the_host_has_a_label_for_the_container() -> None:
    texts = [page.read_text() for page in PAGES]
    assert sum(len([*volumes(text)]) for text in texts) >= 2
    assert [line for text in texts for line in unlabelled(text)] == []


def test_a_folder_without_a_label_is_seen() -> None:
    bare = 'podman run --rm -v "$PWD:/results" --cap-add SYS_NICE sojourn run x'
    assert unlabelled(bare) == [bare]
    assert unlabelled("docker run --volume=/tmp/a:/b:ro,Z sojourn") == []
    assert unlabelled("podman run -v /sys:/sys sojourn") != []


def test_no_page_takes_the_project_from_an_index() -> None:
    """None of it is on PyPI, so the name there is somebody else's."""
    named = [page.name for page in PAGES if FROM_INDEX.search(page.read_text())]
    assert named == []
    for line in ("pip install 'sojourn[view]'", "pip install -U sojourn", "pipx install sojourn"):
        assert FROM_INDEX.search(line), line
    for line in ("pip install ./sojourn-0.2.0-py3-none-any.whl", "pip install sojourn-else"):
        assert not FROM_INDEX.search(line), line
