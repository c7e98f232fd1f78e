"""Makes of a wheel for Linux one without native programs, in which records can be read elsewhere.

    python scripts/any_wheel.py sojourn-0.2.0-py3-none-manylinux_2_28_x86_64.whl FOLDER

pip takes it where no wheel of the system fits, as on macOS. Its `sojourn` is a script, because
the launcher is native as well.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from pathlib import Path

START = "[console_scripts]\nsojourn = sojourn.__main__:start\n"
#: Of the data only these: the others belong to native programs.
OWN = re.compile(
    r"/share/(doc/sojourn/.*|(.*/)?(sojourn(\.1\.gz|\.fish)?|_sojourn|CITATION\.cff))$"
)


def main() -> int:
    """Write the wheel into the folder; its path is printed."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    name = re.sub(r"-[^-]+\.whl$", "-any.whl", source.name)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(folder / name, "w") as new:
        rows = []
        for info in old.infolist():
            if not _is_left(info.filename):
                continue
            content = old.read(info)
            if info.filename.endswith(".dist-info/WHEEL"):
                content = _for_any(content.decode()).encode()
                start = info.filename.replace("WHEEL", "entry_points.txt")
                rows.append(_put(new, start, START.encode(), info))
            rows.append(_put(new, info.filename, content, info))
        record = next(n for n in old.namelist() if n.endswith(".dist-info/RECORD"))
        rows.append(f"{record},,")
        _put(new, record, ("\n".join(rows) + "\n").encode(), old.getinfo(record))
    print(folder / name)
    return 0


def _is_left(name: str) -> bool:
    if name.endswith(".dist-info/RECORD"):
        return False
    return ".data/" not in name or OWN.search(name) is not None


def _for_any(text: str) -> str:
    """WHEEL of a package that is the same on every system."""
    lines = [line for line in text.splitlines() if not line.startswith(("Tag:", "Root-Is-Purelib"))]
    return "\n".join([*filter(None, lines), "Root-Is-Purelib: true", "Tag: py3-none-any", ""])


def _put(wheel: zipfile.ZipFile, name: str, content: bytes, of: zipfile.ZipInfo) -> str:
    """Write a file; its row of RECORD."""
    info = zipfile.ZipInfo(name, of.date_time)
    info.external_attr, info.compress_type = of.external_attr, zipfile.ZIP_DEFLATED
    wheel.writestr(info, content)
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


if __name__ == "__main__":
    sys.exit(main())
