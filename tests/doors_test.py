"""Files are opened by two doors, `sojourn.disk` and `sojourn_base::files`; all else is listed.

Whoever adds a way to write, or to read what others wrote, either uses a door or says here why none
fits: what is read or written there is then the kernel's, the lab's own cache, or a file that the
user has named on the command line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python" / "sojourn"
DOORS = "disk/"

#: Files that write without a door, and why nothing planted can lead them away.
WRITERS = {
    "__main__.py": "the null device, in place of a standard stream that is closed",
    "manage/reload.py": "the terminal, to see whether there is one",
    "questions/isolation_cost/mechanisms/files.py": "files of the kernel",
    "cli/faults.py": "a traceback, by mkstemp; and /dev/null",
    "cli/named_file.py": "files for CI and pages, under the names that the user gave",
    "cli/init_cmd.py": "the study that `init` makes, under the name that the user gave",
    "report/library.py": "the package's own script, when a release is made",
    "install/answers.py": "the lab's own cache",
    "install/cpp.py": "the lab's own cache",
    "install/debs.py": "the lab's own cache",
    "install/media_streaming.py": "the lab's own cache",
    "install/moses.py": "the lab's own cache",
    "install/part.py": "the lab's own cache",
    "install/shore.py": "the lab's own cache",
    "install/specjbb.py": "the lab's own cache",
    "install/sphinx.py": "the lab's own cache",
    "install/vm.py": "the lab's own cache",
    "knobs/cstates.py": "a device of the kernel",
    "knobs/groups.py": "files of the kernel",
    "knobs/io_limit.py": "a file without a name",
    "knobs/ordered.py": "files of the kernel",
    "knobs/settings.py": "files of the kernel",
    "manage/warden.py": "runs alone, by the standard library: files of the kernel",
    "places/cgroups.py": "files of the kernel",
    "places/guest/channel.py": "pipes that the lab makes in its own folder",
    "places/guest/initrd.py": "a guest's disk, in a folder of the lab's own",
    "places/guest/qmp.py": "a guest's state in the lab's own cache, O_EXCL",
    "places/guest/saved.py": "the lab's own cache",
    "places/guest/trial.py": "the lab's own cache",
    "places/lxc.py": "a folder of the lab's own below /run",
    "places/network.py": "a mount point below /run/netns, O_EXCL",
    "places/platform/ceph.py": "a folder of the lab's own below /var/tmp, made by mkdir",
    "places/platform/image.py": "the same, O_EXCL",
    "places/platform/libvirt.py": "a folder of the lab's own below /run, and the lab's own cache",
    "places/runc.py": "a folder of the lab's own below /run",
    "places/server_files.py": "the door to folders that a server's user may write to",
    "places/warden.py": "runs alone, by the standard library: files of the kernel",
    "run/journal.py": "the journal: O_EXCL | O_NOFOLLOW in the user's own folder",
    "run/left.py": "locks a journal of the user's own folder, O_NOFOLLOW",
    "run/turn.py": "the machine's lock: O_EXCL | O_NOFOLLOW, checked to be a plain file",
    "run/unprivileged.py": "empty files in a folder that it has just made, mode 0700",
    "run/work.py": "through `places.server_files`",
    "samples/made.py": "makes points for tests",
    "schema/__main__.py": "the contract, in the checkout",
    "services/own/unpack.py": "a working folder, before it is handed to the server's user",
    "services/media_streaming.py": "a working folder, before it is handed over",
    "services/nginx.py": "a working folder, before it is handed over",
    "services/tpcc/postgres.py": "a working folder, before it is handed over",
    "services/tpcc/shore.py": "a working folder, before it is handed over",
    "services/tpcc/specjbb.py": "a working folder, before it is handed over",
    "services/tailbench/words.py": "a working folder, before it is handed over",
}
#: Files above the samples that read without a door, and why what they read is no stranger's.
READERS = {
    "record/cache.py": "the package's own source",
    "report/page.py": "the package's own templates",
    "store/within.py": "the kernel, about this process",
}
# fmt: off
READ = (
    "samples", "store", "record", "analysis", "papers", "models", "questions", "report", "campaign",
    "pipeline", "cli", "importers",
)
# fmt: on
WRITING = {"write_text", "write_bytes", "touch", "NamedTemporaryFile", "mkstemp"}
COPYING = {"copy", "copy2", "copyfile", "copytree", "move"}  # of shutil
READING = {"read_text", "read_bytes", "read_table", "ParquetFile", "read_csv"}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC"}
RUST_WRITERS = {
    "trace/src/blackbox/folder.rs": "opens the folder of dumps itself, to read",
    "trace/src/blackbox/folder/part.rs": "dumps, in a folder of one user, 0600, new, then renamed",
    "trace/src/blackbox/log.rs": "a log that grows; no link is followed",
    "base/src/files.rs": "the door",
    "load/src/drive/turns.rs": "shared by the clients of a run: O_NOFOLLOW",
    "noise/src/antagonists/disk.rs": "a file without a name, O_EXCL",
    "query/src/work/planted.rs": "a file without a name, O_EXCL",
    "trace/src/diff/read.rs": "reads only: O_NONBLOCK, so that no pipe is waited for",
}


@cache
def sources() -> tuple[tuple[str, ast.Module], ...]:
    """(path in the package, syntax) of every module that is no test."""
    paths = ((path.relative_to(PACKAGE).as_posix(), path) for path in sorted(PACKAGE.rglob("*.py")))
    return tuple(
        (name, ast.parse(path.read_text(encoding="utf-8")))
        for name, path in paths
        if not path.stem.endswith(("_test", "testing")) and not name.startswith(DOORS)
    )


def calls(tree: ast.Module) -> Iterator[tuple[str, str, ast.Call]]:
    """(what it is called on, name, call) of every call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            match node.func:
                case ast.Attribute(value=ast.Name(id=on), attr=name):
                    yield on, name, node
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    yield "", name, node


def mode_of(call: ast.Call, at: int) -> str:
    """The mode of an `open`, by position or by name; "w" where it is not written out."""
    inputs = call.args[at : at + 1] or [k.value for k in call.keywords if k.arg == "mode"]
    if not inputs:
        return "r"
    return str(inputs[0].value) if isinstance(inputs[0], ast.Constant) else "w"


def writes(tree: ast.Module) -> Iterator[str]:
    """What opens a file to write it, as far as its own words say."""
    flagged = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)} & FLAGS
    for on, name, call in calls(tree):
        if name == "open" and on == "os":
            if flagged:
                yield f"os.open:{call.lineno}"
        elif name == "open" and on != "store":  # a record
            is_method = isinstance(call.func, ast.Attribute)
            if set(mode_of(call, 0 if is_method else 1)) & set("wax+"):
                yield f"open:{call.lineno}"
        else:
            is_named = name in WRITING and on not in {"disk", "files", "theirs"}
            is_copy = name in COPYING and on == "shutil"
            is_table = name == "write_table" and not is_file_of_a_door(call)
            if is_named or is_copy or is_table:
                yield f"{name}:{call.lineno}"


def is_file_of_a_door(call: ast.Call) -> bool:
    """Whether Parquet goes to the open file that a door hands to its function."""
    return len(call.args) > 1 and isinstance(call.args[1], ast.Name) and call.args[1].id == "file"


def reads(tree: ast.Module) -> Iterator[str]:
    """What reads a file without a door."""
    for on, name, call in calls(tree):
        if name in READING and on != "disk":
            yield f"{name}:{call.lineno}"
        elif name == "open" and on not in {"os", "store", "webbrowser"}:
            yield f"open:{call.lineno}"


def test_what_writes_a_file_uses_the_door_or_is_known() -> None:
    results = {name: list(writes(tree)) for name, tree in sources()}
    assert {n: w for n, w in results.items() if w and n not in WRITERS} == {}
    assert [n for n in WRITERS if not results.get(n)] == [], "listed, and writes nothing any more"


def test_what_reads_a_record_uses_the_door_or_is_known() -> None:
    every = (pair for pair in sources() if pair[0].split("/")[0].removesuffix(".py") in READ)
    results = {name: list(reads(tree)) for name, tree in every}
    known = READERS.keys() | WRITERS.keys()
    assert {n: r for n, r in results.items() if r and n not in known} == {}
    assert [n for n in READERS if not results.get(n)] == [], "listed, and reads nothing any more"


def cuts(tree: ast.Module) -> Iterator[str]:
    """What cuts a text of /proc at letters that the kernel leaves in names (`disk.tables`)."""
    for _, name, call in calls(tree):
        is_cut = name == "splitlines" or (name == "read_text" and "proc" in ast.unparse(call))
        if is_cut and "/proc/" in (words := ast.unparse(call)) and "read.read" not in words:
            yield f"{name}:{call.lineno}: {words}"


#: Numbers and one name alone, whose end is the end of the file.
OF_ONE_LINE = ("/comm", "/cmdline", "/stat", "/schedstat", "/sys/kernel/")


def test_tables_of_the_kernel_end_lines_where_the_kernel_does() -> None:
    results = {name: list(cuts(tree)) for name, tree in sources() if not name.startswith("drive/")}
    assert {
        name: bad
        for name, every in results.items()
        if (bad := [one for one in every if not any(part in one for part in OF_ONE_LINE)])
    } == {}
    assert list(cuts(ast.parse("(tree.text('/proc/self/mountinfo') or '').splitlines()")))
    assert list(cuts(ast.parse("Path('/proc/self/status').read_text()")))


@pytest.mark.parametrize(
    "text",
    [
        "path.write_text('x')",
        "path.write_bytes(b'x')",
        "open(path, 'w')",
        "open(path, mode='ab')",
        "path.open('a+')",
        "import os; os.open(path, os.O_WRONLY | os.O_CREAT)",
        "shutil.copyfile(one, other)",
        "pq.write_table(table, path)",
        "tempfile.mkstemp()",
    ],
)
def test_every_way_to_write_is_seen(text: str) -> None:
    assert list(writes(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ["disk.write_text(path, 'x')", "open(path)", "path.open('rb')", "pq.write_table(table, file)"],
)
def test_a_door_and_a_look_are_no_writing(text: str) -> None:
    assert not list(writes(ast.parse(text)))


def rust_writes(text: str) -> list[str]:
    """What makes or opens a file to write it in a module's own part, tests left out."""
    own = text.split("#[cfg(test)]", maxsplit=1)[0]
    return re.findall(r"File::create|fs::write\(|OpenOptions::new|File::options|fs::copy", own)


def test_what_writes_a_file_in_rust_uses_the_door_or_is_known() -> None:
    crates = ROOT / "crates"
    results = {}
    for path in sorted(crates.glob("*/src/**/*.rs")):
        name = path.relative_to(crates).as_posix()
        is_test = path.stem in {"tests", "testing"} or "tests" in path.parts
        if not is_test and (made := rust_writes(path.read_text(encoding="utf-8"))):
            results[name] = made
    assert {n: w for n, w in results.items() if n not in RUST_WRITERS} == {}
    assert [n for n in RUST_WRITERS if n not in results] == []


#: Rust that writes to a terminal by itself, and why no text of a stranger is in it.
SPEAKERS = {
    "load/src/drive/progress.rs": "numbers, and a return to the line's start",
    "load/src/program.rs": "asks whether it is a terminal",
    "tools/src/bin/sojourn-counters.rs": "through Visible",
    "tools/src/bin/sojourn-sim.rs": "through visible()",
    "tools/src/bin/sojourn.rs": "through visible()",
    "tools/src/signals.rs": "through Visible",
}
SPEAKS = re.compile(r"\be?print(?:ln)?!|\bstd(?:out|err)\(\)")


def test_what_writes_to_a_terminal_in_rust_is_known() -> None:
    """A server's reply, a URL or a name reaches it by `base::visible` alone."""
    results = {}
    for path in sorted((ROOT / "crates").glob("*/src/**/*.rs")):
        name = path.relative_to(ROOT / "crates").as_posix()
        own = path.read_text(encoding="utf-8").split("#[cfg(test)]", maxsplit=1)[0]
        if path.stem not in {"tests", "testing"} and "tests" not in path.parts:
            results[name] = [
                line for line in own.splitlines() if SPEAKS.search(line.partition("//")[0])
            ]
    assert {name for name, lines in results.items() if lines} == set(SPEAKERS)
    for name, why in SPEAKERS.items():
        if why.startswith("through"):
            assert all(re.search(r"[Vv]isible", line) for line in results[name]), name
